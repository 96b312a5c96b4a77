import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { TestCa } from "../../../test/support/bridge/certificates.ts";
import { RevocationList } from "../../pki/revocation-list.ts";
import { CrlServer } from "./crl-server.ts";

const ca = new TestCa("own");
const revoked = ca.issue({});
let lists: string | undefined;
let port: number;
beforeEach(async () => {
  lists = `${ca.revoke([revoked])}-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n${new TestCa("other").revoke([])}`;
  const server = new CrlServer({ host: "127.0.0.1", port: 0, path: "/bridge.crl", lists: () => lists });
  const stop = new AbortController();
  const running = server.run(stop.signal);
  port = (await server.listening).port;
  return async () => {
    stop.abort();
    await running;
  };
});
afterEach(() => {
  lists = undefined;
});

function ask(path: string, method = "GET"): Promise<{ status: number; type: string; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const req = request({ host: "127.0.0.1", port, path, method, agent: false });
    req.on("error", reject).on("response", async (res) => {
      const body = Buffer.concat(await res.toArray());
      resolve({ status: res.statusCode ?? 0, type: res.headers["content-type"] ?? "", body });
    });
    req.end();
  });
}

it("serves the list that certificates name, in its current version", async () => {
  const { status, type, body } = await ask("/bridge.crl");
  expect([status, type]).toEqual([200, "application/pkix-crl"]);
  expect(new RevocationList(body).size).toBe(1);
  lists = ca.revoke([]);
  expect(new RevocationList((await ask("/bridge.crl?x=1")).body).size).toBe(0);
  expect(await ask("/bridge.crl", "HEAD")).toMatchObject({ status: 200, body: Buffer.alloc(0) });
});

it("serves all lists, and nothing else from their file", async () => {
  const text = String((await ask("/bridge.crl.pem")).body);
  expect(text.match(/BEGIN X509 CRL/g)).toHaveLength(2);
  expect(text).not.toContain("PRIVATE");
});

it("answers while callers hold all its connections with unfinished requests", async () => {
  const held = Array.from({ length: 300 }, () => connect(port, "127.0.0.1").on("error", () => {}));
  for (const socket of held) socket.write("GET /bridge.crl HTTP/1.1\r\n");
  await Promise.all(held.map((socket) => once(socket, "connect")));
  for (let i = 0; i < 5; i++) expect((await ask("/bridge.crl")).status).toBe(200);
  for (const socket of held) socket.destroy();
});

it("serves nothing else", async () => {
  for (const path of ["/", "/bridge.crl/", "/../bridge.crl", "/metrics"]) expect((await ask(path)).status).toBe(404);
  expect((await ask("/bridge.crl", "POST")).status).toBe(405);
  lists = undefined;
  expect((await ask("/bridge.crl")).status).toBe(503);
});
