import { createHmac, generateKeyPairSync, type KeyObject, sign, X509Certificate } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mintToken, type TokenRequest } from "../../internal/auth/mint-token.ts";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import type { TlsMaterial } from "../../internal/rpc/common/tls.ts";
import { startTwoLayerServer, type TwoLayerServer } from "../fakes/two-layer-server.ts";
import { noUrisOn, TestCa, UNKNOWN_CRITICAL } from "../support/bridge/certificates.ts";
import { eventually } from "../support/bridge/rpc-server.ts";
import { writeTls } from "../support/bridge/secret.ts";

const bridge = new TestCa("bridge-ca");
const prd = new TestCa("prd-manager");
const ndara = new TestCa("ndara");
const revokedConsumer = new TestCa("revoked-consumer");
const endedConsumer = new TestCa("ended-consumer");
const stranger = new TestCa("stranger");
const below = new TestCa("below", prd);
const revokedBetween = new TestCa("between", bridge);

const keys = {
  prd: generateKeyPairSync("ed25519"),
  ndara: generateKeyPairSync("ed25519"),
  other: generateKeyPairSync("ed25519"),
};
const URI = { prd: "spiffe://prd/client/app", ndara: "spiffe://ndara/client/app" };
const certificate = {
  prd: prd.issue({ uris: [URI.prd] }),
  ndara: ndara.issue({ uris: [URI.ndara] }),
  /** The bridge's own CA has made it for a client of that name. */
  named: bridge.issue({ uris: ["spiffe://bridge/client/prd-manager"] }),
  otherName: bridge.issue({ uris: ["spiffe://bridge/client/someone"] }),
};
const revoked = prd.issue({ uris: [URI.prd] });

let dir: string;
let server: TwoLayerServer;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-two-layers-"));
  const pem = ({ publicKey }: { readonly publicKey: KeyObject }) => publicKey.export({ type: "spki", format: "pem" });
  await writeFile(join(dir, "prd.pub"), pem(keys.prd));
  await writeFile(join(dir, "ndara.pub"), pem(keys.ndara));
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

const now = () => Math.floor(Date.now() / 1000);
const encoded = (value: unknown) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

const GOOD = { issuer: "prd-manager", subject: "app", project: "p1", audience: "bridge", ttlMs: 120_000 } as const;
const token = (request: Partial<TokenRequest> = {}, key = keys.prd.privateKey) =>
  mintToken(key, { ...GOOD, ...request }, Date.now());

const claims = () => ({
  iss: "prd-manager",
  sub: "app",
  project_id: "p1",
  aud: "bridge",
  iat: now(),
  exp: now() + 120,
});
/** Header and claims as they are given, signed with the right key. */
function signed(payload: unknown, header: unknown = { alg: "EdDSA", typ: "JWT" }, key = keys.prd.privateKey): string {
  const text = `${encoded(header)}.${encoded(payload)}`;
  return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`;
}
const withHeader = (more: object) => signed(claims(), { alg: "EdDSA", typ: "JWT", ...more });
const withClaims = (more: object) => signed({ ...claims(), ...more });
const without = (...names: string[]) =>
  signed(Object.fromEntries(Object.entries(claims()).filter(([name]) => !names.includes(name))));

interface Answer {
  readonly status: number;
  readonly code: string;
  readonly text: string;
}

interface Ask {
  readonly tls?: Omit<TlsMaterial, "ca">;
  /** Values of `authorization`, in turn. */
  readonly authorization?: readonly string[];
  readonly method?: string;
  readonly body?: object;
  /** What the caller's own TLS library lets it use. */
  readonly ciphers?: string;
}

/** One call, by HTTP/1.1 and JSON: what a script can do. A connection that fails has the status 0. */
function call({
  tls = certificate.prd,
  authorization = [],
  method = "SidecarService/Peek",
  body = {},
  ciphers,
}: Ask): Promise<Answer> {
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

const bearer = (text: string): Ask => ({ authorization: [`Bearer ${text}`] });
const ndaraToken = (request: Partial<TokenRequest> = {}) =>
  token({ issuer: "ndara", project: "n1", ...request }, keys.ndara.privateKey);

/** Nothing of how the house is built, nothing of a token, a key or a list. */
const LEAKS = /\/(tmp|work|home|root)\/|node_modules|[.]ts\b|-----BEGIN|at \w+ \(|eyJ|spki|1b:|[0-9a-f]{40}/i;

async function refused(ask: Ask, code: string, words: string): Promise<void> {
  const before = { handled: server.handled(), audited: server.audited.length };
  const answer = await call(ask);
  expect(answer).toMatchObject({ code, text: expect.stringContaining(words) });
  const told = answer.text.replace(/"value":"[^"]*"/g, "").replace(/"correlation_id":"[^"]*"/g, "");
  expect(told).not.toMatch(LEAKS);
  expect(server.handled()).toBe(before.handled);
  await expectAudited(before.audited, ask);
}

async function expectAudited(before: number, { authorization = [] }: Ask): Promise<void> {
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

describe("a call with both layers", () => {
  it.each<[string, () => Ask]>([
    ["over a certificate of its issuer's CA", () => bearer(token())],
    [
      "over one that the server's own CA made for a client of the issuer's name",
      () => ({ ...bearer(token()), tls: certificate.named }),
    ],
    [
      "bound to the certificate that it is shown over",
      () => bearer(token({ certificate: new X509Certificate(certificate.prd.cert) })),
    ],
    ["for several audiences, one of which is this", () => bearer(withClaims({ aud: ["other", "bridge"] }))],
    ["whose issuer's clock is 20 s ahead", () => bearer(withClaims({ iat: now() + 20, exp: now() + 120 }))],
    ["with claims that nothing here reads", () => bearer(withClaims({ jti: "1", name: { first: "A" } }))],
    ["with read for a call that needs it", () => bearer(token({ scope: "read" }))],
    ["of another issuer", () => ({ ...bearer(ndaraToken()), tls: certificate.ndara })],
  ])("is answered: a token %s", async (_, ask) => {
    const before = server.audited.length;
    expect(await call(ask())).toMatchObject({ status: 200, text: expect.stringContaining("line") });
    expect(server.audited.slice(before).map((line) => JSON.parse(line) as object)).toMatchObject([
      {
        event: "call",
        outcome: "allowed",
        call: "gastown.v1.SidecarService/Peek",
        correlation_id: expect.any(String),
        subject: "app",
      },
    ]);
  });
});

/** A refusal by the handshake has no answer, only an audited reason: Node's name of OpenSSL's verdict. */
const noAnswer = (reason: string): CertificateRefusal => ({ reason });
const answered = (code: string, kind: string, reason: string): CertificateRefusal => ({ code, kind, reason });

interface CertificateRefusal {
  /** Of the answer; undefined: none comes. */
  readonly code?: string;
  /** In the audit log. */
  readonly kind?: string;
  readonly reason: string;
}

describe("a certificate is refused", () => {
  const rsa1024 = () => prd.issue({ uris: [URI.prd], keys: generateKeyPairSync("rsa", { modulusLength: 1024 }) });
  const revokedAnswer = answered("unauthenticated", "unauthenticated", "the caller's certificate is revoked");
  const unnamed = noAnswer(
    "the certificate does not verify, for a reason that has no code (a name that its CA may not give, a weak key or digest, an unknown critical extension)",
  );
  it.each<[string, () => Omit<TlsMaterial, "ca">, CertificateRefusal]>([
    ["of another CA", () => stranger.issue({ uris: [URI.prd] }), noAnswer("UNABLE_TO_VERIFY_LEAF_SIGNATURE")],
    [
      "of another CA with the same name",
      () => new TestCa("prd-manager").issue({ uris: [URI.prd] }),
      noAnswer("CERT_SIGNATURE_FAILURE"),
    ],
    ["that signed itself", () => stranger.itself, noAnswer("DEPTH_ZERO_SELF_SIGNED_CERT")],
    ["that has expired", () => prd.issue({ uris: [URI.prd], days: -0.5 }), noAnswer("CERT_HAS_EXPIRED")],
    ["that is not valid yet", () => prd.issue({ uris: [URI.prd], startDays: 0.5 }), noAnswer("CERT_NOT_YET_VALID")],
    ["that is revoked", () => revoked, revokedAnswer],
    ["below a cross-signature that is revoked", () => revokedConsumer.issue({ uris: [URI.prd] }), revokedAnswer],
    [
      "below a cross-signature that has ended",
      () => endedConsumer.issue({ uris: [URI.prd] }),
      noAnswer("CERT_HAS_EXPIRED"),
    ],
    ["below an intermediate that is revoked", () => revokedBetween.issue({ uris: [URI.prd] }), revokedAnswer],
    ["for servers", () => prd.issue({ uris: [URI.prd], usages: ["server"] }), noAnswer("INVALID_PURPOSE")],
    [
      "that does not say what it is for",
      () => prd.issue({ uris: [URI.prd], usages: [] }),
      answered("unauthenticated", "unauthenticated", "the caller's certificate is not one for callers (no clientAuth)"),
    ],
    [
      "with a name that its CA may not give",
      () => ndara.issue({ uris: ["spiffe://bridge/client/prd-manager"] }),
      unnamed,
    ],
    [
      "below a CA that may have no CA below it",
      () => below.issue({ uris: [URI.prd] }),
      noAnswer("PATH_LENGTH_EXCEEDED"),
    ],
    [
      "of a sidecar",
      () => bridge.issue({ ips: ["127.0.0.1"], uris: ["spiffe://bridge/ns/a/session/s"] }),
      noAnswer("INVALID_PURPOSE"),
    ],
    [
      "of a sidecar that is for clients too",
      () => bridge.issue({ uris: ["spiffe://bridge/ns/a/session/s"], usages: ["client", "server"] }),
      answered("permission_denied", "denied", "the caller's certificate is a sidecar's: sidecars do not call"),
    ],
    ["with a weak key", rsa1024, unnamed],
    [
      "with a weak curve, for which TLS 1.3 has no signature",
      () => prd.issue({ uris: [URI.prd], keys: generateKeyPairSync("ec", { namedCurve: "secp224r1" }) }),
      noAnswer("ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE"),
    ],
    ["signed with SHA-1", () => prd.issue({ uris: [URI.prd], sha1: true }), unnamed],
    [
      "with a critical extension that nothing knows",
      () => prd.issue({ uris: [URI.prd], extensions: [UNKNOWN_CRITICAL] }),
      unnamed,
    ],
    ["that is not there", () => ({ cert: "", key: "" }), noAnswer("ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE")],
  ])("%s", async (_, material, { code, kind, reason }) => {
    const before = { handled: server.handled(), audited: server.audited.length };
    const answer = await call({ ...bearer(token()), tls: material(), ciphers: "DEFAULT:@SECLEVEL=0" });
    expect(answer).toMatchObject(code === undefined ? { status: 0 } : { code });
    if (code !== undefined) expect(answer.text).toContain(reason);
    expect(answer.text).not.toMatch(LEAKS);
    expect(server.handled()).toBe(before.handled);
    await expectAudited(before.audited, {});
    const lines = server.audited.slice(before.audited).map((line) => JSON.parse(line) as object);
    expect(lines).toEqual([
      expect.objectContaining({
        event: "connection",
        reason,
        address: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      }),
      ...(code === undefined ? [] : [expect.objectContaining({ event: "call", code: kind, reason })]),
    ]);
  });
});

describe("a token is refused", () => {
  const hs256 = () => {
    const text = `${encoded({ alg: "HS256", typ: "JWT" })}.${encoded(claims())}`;
    const pem = keys.prd.publicKey.export({ type: "spki", format: "pem" });
    return `${text}.${createHmac("sha256", pem).update(text).digest("base64url")}`;
  };
  const es256 = () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const text = `${encoded({ alg: "ES256", typ: "JWT" })}.${encoded(claims())}`;
    return `${text}.${sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
  };
  const jwk = () => keys.other.publicKey.export({ format: "jwk" });
  const flipped = () => `${token().slice(0, -3)}AAA`;
  it.each<[string, () => Ask, string, string?]>([
    ["that is not there", () => ({}), "has no token"],
    ["that is empty", () => bearer(""), "not Bearer"],
    ["with a scheme but no text", () => ({ authorization: ["Bearer"] }), "not Bearer"],
    ["of another scheme", () => ({ authorization: [`Basic ${token()}`] }), "not Bearer"],
    ["with the scheme in other case", () => ({ authorization: [`bearer ${token()}`] }), "not Bearer"],
    ["with the scheme in capitals", () => ({ authorization: [`BEARER ${token()}`] }), "not Bearer"],
    ["sent twice", () => ({ authorization: [`Bearer ${token()}`, `Bearer ${token()}`] }), "more than one"],
    ["sent once wrong and once right", () => ({ authorization: ["Bearer x", `Bearer ${token()}`] }), "more than one"],
    ["twice in one header", () => bearer(`${token()}, Bearer ${token()}`), "no signed JWT"],
    ["with a blank behind it", () => bearer(`${token()} x`), "no signed JWT"],
    ["with a blank before it", () => bearer(` ${token()}`), "no signed JWT"],
    ["that is larger than 4 KiB", () => bearer(withClaims({ x: "x".repeat(4096) })), "larger"],
    ["that is not one", () => bearer("hello"), "no signed JWT"],
    ["of two parts", () => bearer(token().split(".").slice(0, 2).join(".")), "no signed JWT"],
    ["of four parts", () => bearer(`${token()}.x`), "no signed JWT"],
    ["with padding", () => bearer(`${token()}==`), "no signed JWT"],
    ["in base64 with other letters", () => bearer(token().replace(".", "+.")), "no signed JWT"],
    ["whose header is no JSON", () => bearer(signed(claims(), "{alg:EdDSA}")), "no JSON object"],
    ["whose header is a list", () => bearer(signed(claims(), "[]")), "no JSON object"],
    ["whose claims are no object", () => bearer(signed('"claims"')), "no JSON object"],
    ["whose claims are null", () => bearer(signed("null")), "no JSON object"],
    ["with alg none", () => bearer(`${encoded({ alg: "none" })}.${encoded(claims())}.`), "no signed JWT"],
    ["with alg none and a signature", () => bearer(signed(claims(), { alg: "none" })), "not signed with EdDSA"],
    ["with alg NONE", () => bearer(signed(claims(), { alg: "NONE" })), "not signed with EdDSA"],
    ["with HS256 and the public key as secret", () => bearer(hs256()), "not signed with EdDSA"],
    ["with ES256", () => bearer(es256()), "not signed with EdDSA"],
    ["without alg", () => bearer(signed(claims(), { typ: "JWT" })), "not signed with EdDSA"],
    ["with alg in other case", () => bearer(signed(claims(), { alg: "eddsa" })), "not signed with EdDSA"],
    ["with alg twice", () => bearer(signed(claims(), '{"alg":"none","alg":"EdDSA"}')), "twice"],
    ["of another type", () => bearer(withHeader({ typ: "at+jwt" })), "type is not JWT"],
    ["with kid", () => bearer(withHeader({ kid: "../../../dev/null" })), "more than alg"],
    ["with jwk", () => bearer(signed(claims(), { alg: "EdDSA", jwk: jwk() }, keys.other.privateKey)), "more than alg"],
    ["with jku", () => bearer(withHeader({ jku: "https://evil.example/keys" })), "more than alg"],
    ["with x5u", () => bearer(withHeader({ x5u: "https://evil.example/chain" })), "more than alg"],
    ["with x5c", () => bearer(withHeader({ x5c: ["MIIB"] })), "more than alg"],
    ["with crit", () => bearer(withHeader({ crit: ["exp"] })), "more than alg"],
    ["with b64", () => bearer(withHeader({ b64: false })), "more than alg"],
    ["with zip", () => bearer(withHeader({ zip: "DEF" })), "more than alg"],
    ["with another key's signature", () => bearer(token({}, keys.other.privateKey)), "signature"],
    ["with a signature that was changed", () => bearer(flipped()), ""],
    [
      "with a signature of another length",
      () => bearer(`${token().split(".").slice(0, 2).join(".")}.AAAA`),
      "signature",
    ],
    [
      "whose claims were changed",
      () => bearer(token().replace(/\.[^.]+\./, `.${encoded({ ...claims(), project_id: "p2" })}.`)),
      "signature",
    ],
    ["with a claim twice", () => bearer(signed(JSON.stringify(claims()).replace("{", '{"project_id":"p2",'))), "twice"],
    [
      "with a claim twice, once escaped",
      () => bearer(signed(JSON.stringify(claims()).replace("{", '{"proj\\u0065ct_id":"p2",'))),
      "twice",
    ],
    ...["iss", "sub", "project_id", "aud", "iat", "exp"].map((name): [string, () => Ask, string] => [
      `without ${name}`,
      () => bearer(without(name)),
      "token's",
    ]),
    ...["iss", "sub", "project_id", "aud"].map((name): [string, () => Ask, string] => [
      `whose ${name} is empty`,
      () => bearer(withClaims({ [name]: "" })),
      "token's",
    ]),
    ["whose iss is a list", () => bearer(withClaims({ iss: ["prd-manager"] })), "token's iss"],
    ["whose sub is a number", () => bearer(withClaims({ sub: 7 })), "token's sub"],
    ["whose project_id is null", () => bearer(withClaims({ project_id: null })), "token's project_id"],
    [
      "whose project_id holds a control character",
      () => bearer(withClaims({ project_id: "p1\n" })),
      "token's project_id",
    ],
    ["whose aud is an empty list", () => bearer(withClaims({ aud: [] })), "token's aud"],
    ["whose aud holds something else than text", () => bearer(withClaims({ aud: ["bridge", 1] })), "token's aud"],
    ["whose exp is text", () => bearer(withClaims({ exp: String(now() + 60) })), "token's exp"],
    [
      "whose exp is beyond all times",
      () => bearer(signed(JSON.stringify(claims()).replace(/"exp":\d+/, '"exp":1e400'))),
      "token's exp",
    ],
    ["whose iat is negative", () => bearer(withClaims({ iat: -1 })), "token's iat"],
    ["whose scope is unknown", () => bearer(withClaims({ scope: "admin" })), "token's scope"],
    ["whose scope is a list", () => bearer(withClaims({ scope: ["read"] })), "token's scope"],
    ["whose scope is empty", () => bearer(withClaims({ scope: "" })), "token's scope"],
    ["whose cnf is no object", () => bearer(withClaims({ cnf: "x" })), "cnf"],
    ["whose cnf is of another kind", () => bearer(withClaims({ cnf: { jkt: "x" } })), "cnf"],
    [
      "whose cnf names another certificate",
      () => bearer(token({ certificate: new X509Certificate(certificate.ndara.cert) })),
      "another certificate",
    ],
    ["of an issuer that is not known", () => bearer(withClaims({ iss: "evil" })), "issuer is not known"],
    [
      "of an issuer named as a property of objects",
      () => bearer(withClaims({ iss: "constructor" })),
      "issuer is not known",
    ],
    ["for another audience", () => bearer(token({ audience: "gt-sidecar" })), "another audience"],
    ["from the future", () => bearer(withClaims({ iat: now() + 60, exp: now() + 120 })), "from the future"],
    ["not valid before later", () => bearer(withClaims({ nbf: now() + 60 })), "from the future"],
    ["that lives longer than 5 minutes", () => bearer(withClaims({ exp: now() + 301 })), "lives longer"],
    ["that lives for years", () => bearer(withClaims({ exp: now() + 1e9 })), "lives longer"],
    ["that has expired", () => bearer(withClaims({ iat: now() - 100, exp: now() - 1 })), "has expired"],
    ["that ends before it is issued", () => bearer(withClaims({ iat: now(), exp: now() - 100 })), "ends before"],
    [
      "over another project's certificate",
      () => ({ ...bearer(token()), tls: certificate.ndara }),
      "does not count over this certificate",
    ],
    [
      "over a certificate of the server's CA for another client",
      () => ({ ...bearer(token()), tls: certificate.otherName }),
      "does not count over this certificate",
    ],
    [
      "of the other issuer's key",
      () => ({ ...bearer(token({}, keys.ndara.privateKey)), tls: certificate.prd }),
      "signature",
    ],
    [
      "for a project that its issuer may not speak for",
      () => ({ ...bearer(ndaraToken({ project: "p1" })), tls: certificate.ndara }),
      "may not speak",
      "permission_denied",
    ],
    [
      "with read for a call that types",
      () => ({ ...bearer(token({ scope: "read" })), method: "SidecarService/Nudge" }),
      "needs the scope nudge",
      "permission_denied",
    ],
    [
      "with nudge for a call that needs more",
      () => ({ ...bearer(token({ scope: "nudge" })), method: "SidecarService/SendKeys" }),
      "needs the scope operate",
      "permission_denied",
    ],
    [
      "for a call that is nobody's",
      () => ({ ...bearer(token()), method: "SidecarService/StopAgent" }),
      "nobody may call",
      "permission_denied",
    ],
  ])("%s", async (_, ask, words, code = "unauthenticated") => {
    await refused(ask(), code, words);
  });

  it("of 64 KiB, before it is looked at", async () => {
    expect([431, 0]).toContain((await call(bearer("x".repeat(65_536)))).status);
    expect((await call(bearer(token()))).status).toBe(200);
  });

  it("with a correlation id that the audit log knows", async () => {
    const { text } = await call(bearer("x"));
    const details = (JSON.parse(text) as { details: { debug?: { metadata: Record<string, string> } }[] }).details;
    const id = details[0]?.debug?.metadata["correlation_id"] ?? "none";
    expect(JSON.parse(server.audited.at(-1) ?? "{}")).toMatchObject({ correlation_id: id, code: "unauthenticated" });
  });
});

describe("a session", () => {
  const send = (session: string, text = token()) =>
    call({ ...bearer(text), method: "TerminalService/SendInput", body: { session, input: "hi", nudge: true } });

  it("of another project looks as one that does not exist, and the audit log knows better", async () => {
    const [theirs, none] = [await send("theirs"), await send("none")];
    expect([theirs.status, theirs.text.replaceAll("theirs", "none")]).toEqual([404, none.text]);
    const audited = server.audited.filter((line) => line.includes('"session":"theirs"'));
    expect(audited.map((line) => JSON.parse(line) as object)).toMatchObject([
      { event: "policy", outcome: "refused", session_project: "n1", project: "p1", code: "not-found" },
    ]);
  });

  it("is not opened by an agent's token of this or another session's id, nor by an id that a caller's token claims", async () => {
    const names = { iss: "prd-manager", iat: now(), exp: now() + 60 };
    const agents = { ...names, aud: "threads", sub: "p1/mine", workspace_id: "p1", agent_id: "p1/mine" };
    for (const id of ["mine", "theirs"]) {
      expect(await send(id, signed({ ...agents, session_id: "mine" }))).toMatchObject({ code: "unauthenticated" });
    }
    expect(await send("theirs", withClaims({ session_id: "theirs" }))).toMatchObject({ code: "not_found" });
  });

  it("takes so many inputs a minute of one caller, and says when it takes more", async () => {
    const answers = await Promise.all(Array.from({ length: 7 }, () => send("mine")));
    const limited = answers.filter(({ code }) => code === "resource_exhausted");
    expect(limited.length).toBe(1);
    expect(limited[0]?.text).toContain("google.rpc.RetryInfo");
    expect((await send("mine", token({ subject: "another" }))).status).toBe(200);
  });
});

describe("a stream", () => {
  const open = async (first: string) => {
    let current = first;
    const connection = sidecarTransport({
      baseUrl: server.url,
      tls: { ...certificate.prd, ca: bridge.pem },
      interceptors: [
        (next) => (req) => {
          req.header.set("authorization", `Bearer ${current}`);
          return next(req);
        },
      ],
    });
    const client = createClient(SidecarService, connection.transport);
    const stream = client.watchOutput({})[Symbol.asyncIterator]();
    await stream.next();
    const ended = stream.next().then(() => "no failure", domainErrorOf);
    const show = (text: string) => {
      current = text;
      return client.peek({});
    };
    return { ended, show, [Symbol.dispose]: () => connection[Symbol.dispose]() };
  };
  const ending = (ms: number, request: Partial<TokenRequest> = {}) => token({ ttlMs: ms, ...request });
  const settled = async (promise: Promise<unknown>, ms: number) =>
    await Promise.race([promise, new Promise((resolve) => setTimeout(resolve, ms, "still open"))]);

  it("ends with its token", async () => {
    using stream = await open(ending(2000));
    expect(await settled(stream.ended, 5000)).toMatchObject({
      kind: "unauthenticated",
      message: expect.stringContaining("has expired"),
    });
    await eventually("its handler has ended", () => server.open() === 0);
  });

  it("goes on when its caller has shown a newer token over its connection, and ends with that", async () => {
    using stream = await open(ending(2000));
    await stream.show(ending(5000));
    expect(await settled(stream.ended, 3500)).toBe("still open");
    expect(await settled(stream.ended, 5000)).toMatchObject({ kind: "unauthenticated" });
  });

  it.each<[string, Partial<TokenRequest>]>([
    ["of a smaller scope", { scope: "nudge" }],
    ["of another subject", { subject: "another" }],
    ["of another project", { project: "p2" }],
  ])("ends although a newer token was shown %s", async (_, request) => {
    using stream = await open(ending(2000));
    await stream.show(ending(60_000, request));
    expect(await settled(stream.ended, 5000)).toMatchObject({ kind: "unauthenticated" });
  });
});
