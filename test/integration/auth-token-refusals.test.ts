import { createHmac, generateKeyPairSync, sign, X509Certificate } from "node:crypto";
import { createClient } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import type { TokenRequest } from "../../internal/auth/mint-token.ts";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import {
  bearer,
  bridge,
  bridgeToken,
  type CallAttempt,
  call,
  certificate,
  claims,
  customToken,
  encoded,
  expectRefused,
  issuerKeys,
  ndaraToken,
  now,
  server,
  withClaims,
  withHeader,
  without,
} from "../support/bridge/refused-calls.ts";
import { eventually } from "../support/eventually.ts";

describe("a token is refused", () => {
  const hs256 = () => {
    const text = `${encoded({ alg: "HS256", typ: "JWT" })}.${encoded(claims())}`;
    const pem = issuerKeys.prd.publicKey.export({ type: "spki", format: "pem" });
    return `${text}.${createHmac("sha256", pem).update(text).digest("base64url")}`;
  };
  const es256 = () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const text = `${encoded({ alg: "ES256", typ: "JWT" })}.${encoded(claims())}`;
    return `${text}.${sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
  };
  const jwk = () => issuerKeys.other.publicKey.export({ format: "jwk" });
  const flipped = () => bridgeToken().replace(/[^.](?=[^.]*$)/, (first) => (first === "A" ? "B" : "A"));
  it.each<[string, () => CallAttempt, string, string?]>([
    ["that is missing", () => ({}), "has no token"],
    ["that is empty", () => bearer(""), "not Bearer"],
    ["with a scheme but no text", () => ({ authorization: ["Bearer"] }), "not Bearer"],
    ["of another scheme", () => ({ authorization: [`Basic ${bridgeToken()}`] }), "not Bearer"],
    ["sent twice", () => ({ authorization: [`Bearer ${bridgeToken()}`, `Bearer ${bridgeToken()}`] }), "more than one"],
    [
      "sent once wrong and once right",
      () => ({ authorization: ["Bearer x", `Bearer ${bridgeToken()}`] }),
      "more than one",
    ],
    ["twice in one header", () => bearer(`${bridgeToken()}, Bearer ${bridgeToken()}`), "not a signed JWT"],
    ["with a blank behind it", () => bearer(`${bridgeToken()} x`), "not a signed JWT"],
    ["with a blank before it", () => bearer(` ${bridgeToken()}`), "not a signed JWT"],
    ["that is larger than 4 KiB", () => bearer(withClaims({ x: "x".repeat(4096) })), "larger"],
    ["that is not a JWT", () => bearer("hello"), "not a signed JWT"],
    ["of two parts", () => bearer(bridgeToken().split(".").slice(0, 2).join(".")), "not a signed JWT"],
    ["of four parts", () => bearer(`${bridgeToken()}.x`), "not a signed JWT"],
    ["with padding", () => bearer(`${bridgeToken()}==`), "not a signed JWT"],
    ["in base64 with other letters", () => bearer(bridgeToken().replace(".", "+.")), "not a signed JWT"],
    ["whose header is not JSON", () => bearer(customToken(claims(), "{alg:EdDSA}")), "not a JSON object"],
    ["whose header is a list", () => bearer(customToken(claims(), "[]")), "not a JSON object"],
    ["whose claims are not an object", () => bearer(customToken('"claims"')), "not a JSON object"],
    ["whose claims are null", () => bearer(customToken("null")), "not a JSON object"],
    ["with alg none", () => bearer(`${encoded({ alg: "none" })}.${encoded(claims())}.`), "not a signed JWT"],
    ["with alg none and a signature", () => bearer(customToken(claims(), { alg: "none" })), "not signed with EdDSA"],
    ["with alg NONE", () => bearer(customToken(claims(), { alg: "NONE" })), "not signed with EdDSA"],
    ["with HS256 and the public key as secret", () => bearer(hs256()), "not signed with EdDSA"],
    ["with ES256", () => bearer(es256()), "not signed with EdDSA"],
    ["without alg", () => bearer(customToken(claims(), { typ: "JWT" })), "not signed with EdDSA"],
    ["with alg Ed448", () => bearer(customToken(claims(), { alg: "Ed448" })), "not signed with EdDSA"],
    ["with alg in other case", () => bearer(customToken(claims(), { alg: "eddsa" })), "not signed with EdDSA"],
    ["with alg twice", () => bearer(customToken(claims(), '{"alg":"none","alg":"EdDSA"}')), "duplicate"],
    ["of another type", () => bearer(withHeader({ typ: "at+jwt" })), "type is not JWT"],
    ["with kid", () => bearer(withHeader({ kid: "../../../dev/null" })), "more than alg"],
    [
      "with jwk",
      () => bearer(customToken(claims(), { alg: "EdDSA", jwk: jwk() }, issuerKeys.other.privateKey)),
      "more than alg",
    ],
    ["with jku", () => bearer(withHeader({ jku: "https://evil.example/keys" })), "more than alg"],
    ["with x5u", () => bearer(withHeader({ x5u: "https://evil.example/chain" })), "more than alg"],
    ["with x5c", () => bearer(withHeader({ x5c: ["MIIB"] })), "more than alg"],
    ["with crit", () => bearer(withHeader({ crit: ["exp"] })), "more than alg"],
    ["with b64", () => bearer(withHeader({ b64: false })), "more than alg"],
    ["with zip", () => bearer(withHeader({ zip: "DEF" })), "more than alg"],
    ["with another key's signature", () => bearer(bridgeToken({}, issuerKeys.other.privateKey)), "signature"],
    ["with a signature that was changed", () => bearer(flipped()), ""],
    [
      "with a signature of another length",
      () => bearer(`${bridgeToken().split(".").slice(0, 2).join(".")}.AAAA`),
      "signature",
    ],
    [
      "whose claims were changed",
      () => bearer(bridgeToken().replace(/\.[^.]+\./, `.${encoded({ ...claims(), project_id: "p2" })}.`)),
      "signature",
    ],
    [
      "with a claim twice",
      () => bearer(customToken(JSON.stringify(claims()).replace("{", '{"project_id":"p2",'))),
      "duplicate",
    ],
    [
      "with a claim twice, once escaped",
      () => bearer(customToken(JSON.stringify(claims()).replace("{", '{"proj\\u0065ct_id":"p2",'))),
      "duplicate",
    ],
    ...["iss", "sub", "project_id", "aud", "iat", "exp"].map((name): [string, () => CallAttempt, string] => [
      `without ${name}`,
      () => bearer(without(name)),
      "token's",
    ]),
    ...["iss", "sub", "project_id", "aud"].map((name): [string, () => CallAttempt, string] => [
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
    ["whose aud holds something other than text", () => bearer(withClaims({ aud: ["bridge", 1] })), "token's aud"],
    ["whose exp is text", () => bearer(withClaims({ exp: String(now() + 60) })), "token's exp"],
    [
      "whose exp is not a finite number",
      () => bearer(customToken(JSON.stringify(claims()).replace(/"exp":\d+/, '"exp":1e400'))),
      "token's exp",
    ],
    ["whose iat is negative", () => bearer(withClaims({ iat: -1 })), "token's iat"],
    ["whose scope is unknown", () => bearer(withClaims({ scope: "admin" })), "token's scope"],
    ["whose scope is a list", () => bearer(withClaims({ scope: ["read"] })), "token's scope"],
    ["whose scope is empty", () => bearer(withClaims({ scope: "" })), "token's scope"],
    ["whose cnf is not an object", () => bearer(withClaims({ cnf: "x" })), "cnf"],
    ["whose cnf is of another kind", () => bearer(withClaims({ cnf: { jkt: "x" } })), "cnf"],
    [
      "whose cnf names another certificate",
      () => bearer(bridgeToken({ certificate: new X509Certificate(certificate.ndara.cert) })),
      "another certificate",
    ],
    ["of an unknown issuer", () => bearer(withClaims({ iss: "evil" })), "issuer is not known"],
    [
      "of an issuer named as a property of objects",
      () => bearer(withClaims({ iss: "constructor" })),
      "issuer is not known",
    ],
    ["for another audience", () => bearer(bridgeToken({ audience: "gt-sidecar" })), "another audience"],
    ["from the future", () => bearer(withClaims({ iat: now() + 60, exp: now() + 120 })), "not valid yet"],
    ["not valid before later", () => bearer(withClaims({ nbf: now() + 60 })), "not valid yet"],
    [
      "that lives longer than 5 minutes",
      () => bearer(withClaims({ iat: now(), exp: now() + 301 })),
      "valid for more than",
    ],
    ["that lives for years", () => bearer(withClaims({ exp: now() + 1e9 })), "valid for more than"],
    ["that has expired", () => bearer(withClaims({ iat: now() - 100, exp: now() - 1 })), "has expired"],
    ["that ends before it is issued", () => bearer(withClaims({ iat: now(), exp: now() - 100 })), "expires before"],
    [
      "over another project's certificate",
      () => ({ ...bearer(bridgeToken()), tls: certificate.ndara }),
      "is not valid with this certificate",
    ],
    [
      "over a certificate of the server's CA for another client",
      () => ({ ...bearer(bridgeToken()), tls: certificate.otherName }),
      "is not valid with this certificate",
    ],
    [
      "signed with the other issuer's key",
      () => ({ ...bearer(bridgeToken({}, issuerKeys.ndara.privateKey)), tls: certificate.prd }),
      "signature",
    ],
    [
      "for a project that its issuer may not speak for",
      () => ({ ...bearer(ndaraToken({ project: "p1" })), tls: certificate.ndara }),
      "may not act",
      "permission_denied",
    ],
    [
      "with the scope read for a call that types",
      () => ({ ...bearer(bridgeToken({ scope: "read" })), method: "SidecarService/Nudge" }),
      "needs the scope nudge",
      "permission_denied",
    ],
    [
      "with the scope nudge for a call that needs more",
      () => ({ ...bearer(bridgeToken({ scope: "nudge" })), method: "SidecarService/SendKeys" }),
      "needs the scope operate",
      "permission_denied",
    ],
    [
      "for a call that no caller may make",
      () => ({ ...bearer(bridgeToken()), method: "SidecarService/StopAgent" }),
      "no caller may call",
      "permission_denied",
    ],
  ])("%s", async (_, ask, words, code = "unauthenticated") => {
    await expectRefused(ask(), code, words);
  });

  it.each<[string, () => CallAttempt]>([
    ["whose scheme is in lower case", () => ({ authorization: [`bearer ${bridgeToken()}`] })],
    ["whose scheme is in capitals", () => ({ authorization: [`BEARER ${bridgeToken()}`] })],
    ["with alg Ed25519", () => bearer(customToken(claims(), { alg: "Ed25519", typ: "JWT" }))],
    ["with alg EdDSA and no typ", () => bearer(customToken(claims(), { alg: "EdDSA" }))],
  ])("but not one %s", async (_, ask) => {
    expect((await call(ask())).status).toBe(200);
  });

  it("of 64 KiB, before it is parsed", async () => {
    expect([431, 0]).toContain((await call(bearer("x".repeat(65_536)))).status);
    expect((await call(bearer(bridgeToken()))).status).toBe(200);
  });

  it("with a correlation id that is also in the audit log", async () => {
    const { text } = await call(bearer("x"));
    const details = (JSON.parse(text) as { details: { debug?: { metadata: Record<string, string> } }[] }).details;
    const id = details[0]?.debug?.metadata["correlation_id"] ?? "none";
    expect(JSON.parse(server.audited.at(-1) ?? "{}")).toMatchObject({ correlation_id: id, code: "unauthenticated" });
  });
});

describe("a session", () => {
  const send = (session: string, text = bridgeToken()) =>
    call({ ...bearer(text), method: "TerminalService/SendInput", body: { session, input: "hi", nudge: true } });

  it("of another project looks nonexistent to the caller, and the audit log has the real reason", async () => {
    const [theirs, none] = [await send("theirs"), await send("none")];
    expect([theirs.status, theirs.text.replaceAll("theirs", "none")]).toEqual([404, none.text]);
    const audited = server.audited.filter((line) => line.includes('"session":"theirs"'));
    expect(audited.map((line) => JSON.parse(line) as object)).toMatchObject([
      { event: "policy", outcome: "refused", session_project: "n1", project: "p1", code: "not-found" },
    ]);
  });

  it("is not opened by an agent's token for any session's id, nor by the session id of a caller's token", async () => {
    const names = { iss: "prd-manager", iat: now(), exp: now() + 60 };
    const agents = { ...names, aud: "threads", sub: "p1/mine", workspace_id: "p1", agent_id: "p1/mine" };
    for (const id of ["mine", "theirs"]) {
      expect(await send(id, customToken({ ...agents, session_id: "mine" }))).toMatchObject({ code: "unauthenticated" });
    }
    expect(await send("theirs", withClaims({ session_id: "theirs" }))).toMatchObject({ code: "not_found" });
  });

  it("limits a caller's inputs per minute, and says when it accepts more", async () => {
    const answers = await Promise.all(Array.from({ length: 7 }, () => send("mine")));
    const limited = answers.filter(({ code }) => code === "resource_exhausted");
    expect(limited.length).toBe(1);
    expect(limited[0]?.text).toContain("google.rpc.RetryInfo");
    expect((await send("mine", bridgeToken({ subject: "another" }))).status).toBe(200);
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
  /** A token has a resolution of whole seconds: it ends up to one second earlier. */
  const ending = (ms: number, request: Partial<TokenRequest> = {}) => bridgeToken({ ttlMs: ms, ...request });
  const settled = async (promise: Promise<unknown>, ms: number) =>
    await Promise.race([promise, new Promise((resolve) => setTimeout(resolve, ms, "still open"))]);

  it("ends with its token", async () => {
    using stream = await open(ending(4000));
    expect(await stream.ended).toMatchObject({
      kind: "unauthenticated",
      message: expect.stringContaining("has expired"),
    });
    await eventually("its handler has ended", () => server.open() === 0);
  });

  it("continues when its caller has presented a newer token over its connection, and ends with that one", async () => {
    using stream = await open(ending(4000));
    await stream.show(ending(10_000));
    expect(await settled(stream.ended, 5000)).toBe("still open");
    expect(await stream.ended).toMatchObject({ kind: "unauthenticated" });
  });

  it.each<[string, Partial<TokenRequest>]>([
    ["of a smaller scope", { scope: "nudge" }],
    ["of another subject", { subject: "another" }],
    ["of another project", { project: "p2" }],
  ])("ends although its caller presents a newer token %s", async (_, request) => {
    using stream = await open(ending(4000));
    await stream.show(ending(110_000, request));
    expect(await stream.ended).toMatchObject({ kind: "unauthenticated" });
  });
});
