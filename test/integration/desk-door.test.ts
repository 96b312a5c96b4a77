import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../internal/base/clock.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { Door, type DoorPass } from "../../internal/desk/tools/door.ts";
import { AllowedFiles } from "../../internal/files/allowed-files.ts";
import { pathPattern } from "../../internal/files/path-patterns.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";

describe("the door", () => {
  const stop = new AbortController();
  const stack = new DisposableStack();
  let port: number;
  let running: Promise<void>;
  let admitted: DoorPass;

  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), "desk-door-"));
    stack.defer(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, "docs"));
    writeFileSync(join(folder, "docs/hours.md"), "nine to six\n");
    const files = stack.use(new AllowedFiles(join(folder, "docs"), "/docs"));
    const allowed = { patterns: [pathPattern("/docs/**")], maxBytes: 1000 };
    const door = new Door(
      { clock: systemClock, logger: createLogger("test", "silent") },
      { host: "127.0.0.1", port: 0, prefix: "/docs" },
    );
    admitted = door.admit(TOKEN, { read: (path) => files.read(path, allowed) });
    running = door.run(stop.signal);
    ({ port } = await door.listening);
  });

  afterAll(async () => {
    stop.abort();
    await running;
    stack.dispose();
  });

  /** The status of a request with these headers. */
  function statusOf(headers: Readonly<Record<string, string>>, body = "{}", method = "POST", path = "/mcp") {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    const sent = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sent.on("error", reject).end(body);
    return promise;
  }
  const good = { authorization: `Bearer ${TOKEN}` };

  it("offers an MCP client only one tool with one argument", async () => {
    const client = new Client({ name: "test", version: "1" });
    const url = new URL(`http://127.0.0.1:${port}/mcp`);
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: good } }));
    let isListed = false;
    void admitted.listed.then(() => (isListed = true));
    try {
      expect(isListed).toBe(false);
      const { tools } = await client.listTools();
      await admitted.listed;
      expect(tools.map(({ name }) => name)).toEqual(["read_file"]);
      const call = (args: Record<string, unknown>) => client.callTool({ name: "read_file", arguments: args });
      expect(await call({ path: "/docs/hours.md" })).toMatchObject({ content: [{ text: "nine to six\n" }] });
      expect(await call({ path: "/admin/prices.md" })).toMatchObject({
        ...{ isError: true, content: [{ text: "cannot read it: not allowed" }] },
      });
      expect(await call({ path: "/docs/hours.md", root: "/" })).toMatchObject({ isError: true });
      expect(client.getServerCapabilities()).toEqual({ tools: { listChanged: false } });
    } finally {
      await client.close();
    }
  });

  it("answers a client's subscription to changes at once", async () => {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    };
    const params = { _meta: meta, notifications: { toolsListChanged: true } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params });
    const headers = {
      ...{ ...good, "content-type": "application/json", accept: "application/json, text/event-stream" },
      ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" },
    };
    const answer = await fetch(`http://127.0.0.1:${port}/mcp`, { method: "POST", headers, body });
    expect(await answer.json()).toMatchObject({ id: 1, error: { message: "Subscription limit reached" } });
  });

  it("refuses requests without its token, or from a page of another host", async () => {
    expect(await statusOf({})).toBe(401);
    expect(await statusOf({ authorization: `Bearer ${TOKEN}x` })).toBe(401);
    expect(await statusOf({ authorization: TOKEN })).toBe(401);
    expect(await statusOf({ ...good, host: "door.example:80" })).toBe(403);
    expect(await statusOf({ ...good, origin: "http://door.example" })).toBe(403);
    expect(await statusOf(good, "", "GET")).toBe(405);
    expect(await statusOf(good, "{}", "POST", "/")).toBe(404);
    expect(await statusOf(good, "x".repeat(70_000))).toBe(413);
  });
});
