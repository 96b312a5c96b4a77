import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { mintToken, type TokenRequest } from "../../../internal/auth/mint-token.ts";
import type { TlsMaterial } from "../../../internal/rpc/common/tls.ts";
import { startTwoLayerServer, type TwoLayerServer } from "../../fakes/two-layer-server.ts";
import { eventually } from "../eventually.ts";
import { noUrisOn, TestCa } from "./certificates.ts";
import { writeTls } from "./secret.ts";

export const bridge = new TestCa("bridge-ca");
export const prd = new TestCa("prd-manager");
export const ndara = new TestCa("ndara");
export const revokedConsumer = new TestCa("revoked-consumer");
export const endedConsumer = new TestCa("ended-consumer");
export const stranger = new TestCa("stranger");
export const below = new TestCa("below", prd);
export const revokedBetween = new TestCa("between", bridge);

export const issuerKeys = {
  prd: generateKeyPairSync("ed25519"),
  ndara: generateKeyPairSync("ed25519"),
  other: generateKeyPairSync("ed25519"),
};
export const URI = { prd: "spiffe://prd/client/app", ndara: "spiffe://ndara/client/app" };
export const certificate = {
  prd: prd.issue({ uris: [URI.prd] }),
  ndara: ndara.issue({ uris: [URI.ndara] }),
  /** Issued by the bridge's own CA for a client of that name. */
  named: bridge.issue({ uris: ["spiffe://bridge/client/prd-manager"] }),
  otherName: bridge.issue({ uris: ["spiffe://bridge/client/someone"] }),
};
export const revoked = prd.issue({ uris: [URI.prd] });

let dir: string;
export let server: TwoLayerServer;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-two-layers-"));
  const pem = ({ publicKey }: { readonly publicKey: KeyObject }) => publicKey.export({ type: "spki", format: "pem" });
  await writeFile(join(dir, "prd.pub"), pem(issuerKeys.prd));
  await writeFile(join(dir, "ndara.pub"), pem(issuerKeys.ndara));
  const revokedCross = bridge.crossSign(revokedConsumer);
  const cas = [
    ...[
      bridge.pem,
      bridge.crossSign(prd, { pathLength: 0 }),
      bridge.crossSign(ndara, { extensions: [noUrisOn("bridge")] }),
    ],
    ...[revokedCross, bridge.crossSign(endedConsumer, { days: -0.1 }), below.pem, revokedBetween.pem],
  ];
  const lists = [bridge.revoke([{ cert: revokedCross }, { cert: revokedBetween.pem }]), prd.revoke([revoked])];
  const files = bridge.issue({ ips: ["127.0.0.1"], uris: ["spiffe://bridge/server"] });
  await writeTls(join(dir, "tls"), { ...files, ca: cas.join(""), crl: lists.join("") });
  server = await startTwoLayerServer({
    tlsDir: join(dir, "tls"),
    keyFiles: [
      { path: join(dir, "prd.pub"), rule: { issuer: "prd-manager" } },
      { path: join(dir, "ndara.pub"), rule: { issuer: "ndara", projects: ["n1"] } },
    ],
    sessions: { mine: "p1", theirs: "n1" },
    inputsPerMinute: 6,
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

export const now = () => Math.floor(Date.now() / 1000);
export const encoded = (value: unknown) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

const GOOD = {
  issuer: "prd-manager",
  subject: "app",
  project: "p1",
  audience: "bridge",
  ttlMs: 120_000,
} as const;
export const bridgeToken = (request: Partial<TokenRequest> = {}, key = issuerKeys.prd.privateKey) =>
  mintToken(key, { ...GOOD, ...request }, Date.now());

export const claims = () => ({
  iss: "prd-manager",
  sub: "app",
  project_id: "p1",
  aud: "bridge",
  iat: now(),
  exp: now() + 120,
});
/** A token with exactly this header and these claims, signed with the right key. */
export function customToken(
  payload: unknown,
  header: unknown = { alg: "EdDSA", typ: "JWT" },
  key = issuerKeys.prd.privateKey,
): string {
  const text = `${encoded(header)}.${encoded(payload)}`;
  return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`;
}
export const withHeader = (more: object) => customToken(claims(), { alg: "EdDSA", typ: "JWT", ...more });
export const withClaims = (more: object) => customToken({ ...claims(), ...more });
export const without = (...names: string[]) =>
  customToken(Object.fromEntries(Object.entries(claims()).filter(([name]) => !names.includes(name))));

export interface CallResponse {
  readonly status: number;
  readonly code: string;
  readonly text: string;
}

export interface CallAttempt {
  readonly tls?: Omit<TlsMaterial, "ca">;
  /** The values of the `authorization` headers, in order. */
  readonly authorization?: readonly string[];
  readonly method?: string;
  readonly body?: object;
  /** The ciphers that the caller's own TLS library may use. */
  readonly ciphers?: string;
}

/** One call over HTTP/1.1 with JSON, as a script makes it. A connection that fails has the status 0. */
export function call({
  tls = certificate.prd,
  authorization = [],
  method = "SidecarService/Peek",
  body = {},
  ciphers,
}: CallAttempt): Promise<CallResponse> {
  return new Promise((resolve) => {
    const headers = ["host", `127.0.0.1:${server.port}`, "content-type", "application/json"];
    for (const value of authorization) headers.push("authorization", value);
    const text = JSON.stringify(body);
    headers.push("content-length", String(text.length));
    const { cert, key } = tls;
    const options = { method: "POST", cert, key, ca: bridge.pem, agent: false as const, headers, ciphers };
    const req = httpsRequest(`${server.url}/gastown.v1.${method}`, options);
    req.on("error", (err: NodeJS.ErrnoException) => resolve({ status: 0, code: err.code ?? "", text: err.message }));
    req.on("response", async (res) => {
      const answer = Buffer.concat(await res.toArray()).toString();
      const code = answer.startsWith("{") ? (JSON.parse(answer) as { code?: string }).code : undefined;
      resolve({ status: res.statusCode ?? 0, code: code ?? "", text: answer });
    });
    req.end(text);
  });
}

export const bearer = (text: string): CallAttempt => ({ authorization: [`Bearer ${text}`] });
export const ndaraToken = (request: Partial<TokenRequest> = {}) =>
  bridgeToken({ issuer: "ndara", project: "n1", ...request }, issuerKeys.ndara.privateKey);

/** Internals of the server, or parts of a token, a key or a list. */
export const LEAKS = /\/(tmp|work|home|root)\/|node_modules|[.]ts\b|-----BEGIN|at \w+ \(|eyJ|spki|1b:|[0-9a-f]{40}/i;

export async function expectRefused(ask: CallAttempt, code: string, words: string): Promise<void> {
  const before = { handled: server.handled(), audited: server.audited.length };
  const answer = await call(ask);
  expect(answer).toMatchObject({ code, text: expect.stringContaining(words) });
  const told = answer.text.replace(/"value":"[^"]*"/g, "").replace(/"correlation_id":"[^"]*"/g, "");
  expect(told).not.toMatch(LEAKS);
  expect(server.handled()).toBe(before.handled);
  await expectAudited(before.audited, ask);
}

export async function expectAudited(before: number, { authorization = [] }: CallAttempt): Promise<void> {
  const lines = () => server.audited.slice(before);
  await eventually("the refusal is audited", () => lines().some((line) => line.includes('"outcome":"refused"')));
  for (const line of lines()) {
    expect(JSON.parse(line)).toMatchObject({
      outcome: "refused",
      reason: expect.stringMatching(/./),
      time: expect.any(String),
    });
    for (const value of authorization) {
      for (const part of value.split(/[ .]/)) if (part.length > 20) expect(line).not.toContain(part);
    }
  }
}
