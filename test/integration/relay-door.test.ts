import { createHmac, generateKeyPairSync, hash, X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signClaims } from "../../internal/auth/mint-token.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { openTrustedRelay, type RelayRequest, type TrustedRelay, townClaims } from "../support/relay/trusted-relay.ts";
import { until } from "../support/sidecar/sidecar.ts";

let room: TrustedRelay;
beforeAll(async () => {
  room = await openTrustedRelay();
});
afterAll(() => room?.[Symbol.asyncDispose]());

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const bearer = (...tokens: string[]): RelayRequest => ({ authorization: tokens.map((token) => `Bearer ${token}`) });
const now = () => Math.floor(Date.now() / 1000);
const without = (name: string) => {
  const { [name]: _, ...rest } = townClaims();
  return bearer(signClaims(room.keys.town.privateKey, rest));
};
const hs256 = () => {
  const text = `${encoded({ alg: "HS256", typ: "JWT" })}.${encoded(townClaims())}`;
  const secret = room.keys.town.publicKey.export({ type: "spki", format: "pem" });
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
};
const thumbprint = (cert: string) => hash("sha256", new X509Certificate(cert).raw, "base64url");
const villager = (more = {}) => {
  const claims = { iss: "village", session_id: "village_1", ...more };
  return {
    ...bearer(room.token(claims, room.keys.village.privateKey)),
    client: room.village.issue({ uris: ["spiffe://village.example/client/agent"] }),
    path: `/acp/${String(claims.session_id)}/coding?agent_id=agent_abc`,
  };
};
const at = (path: string): RelayRequest => ({ path });
const offering = (...protocols: string[]) => ({ "sec-websocket-protocol": protocols.join(", ") });

/** A refused request, its status, and the beginning of the reason. */
const REFUSED: readonly [string, () => RelayRequest, 400 | 401 | 403, string][] = [
  ["without a token", () => bearer(), 401, "the call has no token"],
  ["with a bridge's token", () => bearer(room.token({ aud: "bridge" })), 401, "the token is for another audience"],
  ["with a token without session_id", () => without("session_id"), 401, "the token's session_id"],
  ["with a token without role", () => without("role"), 401, "the token's role"],
  ["with a token without agent_id", () => without("agent_id"), 401, "the token's agent_id"],
  ["with a token of an agent for threads", () => without("project_id"), 401, "the token's project_id"],
  ["with a token whose session is a wildcard", () => bearer(room.token({ session_id: "*" })), 401, "the token's sess"],
  ["with a token whose role is a list", () => bearer(room.token({ role: ["coding"] })), 401, "the token's role"],
  ["with a token of an unknown issuer", () => bearer(room.token({ iss: "evil" })), 401, "the token's issuer is not"],
  [
    "with a token that another key has signed",
    () => bearer(room.token({}, generateKeyPairSync("ed25519").privateKey)),
    ...([401, "the token's signature is not its issuer's"] as const),
  ],
  [
    "with alg none",
    () => bearer(`${encoded({ alg: "none" })}.${encoded(townClaims())}.`),
    401,
    "the token is not a sig",
  ],
  ["with HS256 and the public key", () => bearer(hs256()), 401, "the token is not signed with EdDSA"],
  [
    "with a token that has expired",
    () => bearer(room.token({ iat: now() - 60, exp: now() - 1 })),
    ...([401, "the token has expired"] as const),
  ],
  [
    "with a token that is not valid yet",
    () => bearer(room.token({ iat: now() + 60, exp: now() + 120 })),
    ...([401, "the token is not valid yet"] as const),
  ],
  ["with a token for an hour", () => bearer(room.token({ exp: now() + 3600 })), 401, "the token is valid for more"],
  ["with two tokens", () => bearer(room.token(), room.token()), 401, "the call has more than one authorization"],
  [
    "with a token in the header and one among the subprotocols",
    () => ({ headers: offering("relay.seed", `bearer.${room.token()}`) }),
    ...([401, "the call has more than one token"] as const),
  ],
  [
    "with two tokens among the subprotocols",
    () => ({ ...bearer(), headers: offering(`bearer.${room.token()}`, `bearer.${room.token()}`, "relay.seed") }),
    ...([401, "the call has more than one token"] as const),
  ],
  [
    "with a token in the query alone",
    () => ({ ...bearer(), path: `/acp/sess_123/coding?agent_id=agent_abc&token=${room.token()}` }),
    ...([401, "the call has no token"] as const),
  ],
  [
    "with a token in the query too",
    () => at(`/acp/sess_123/coding?agent_id=agent_abc&access_token=${room.token()}`),
    ...([400, "a token may not be in the query"] as const),
  ],
  ["with Basic", () => ({ authorization: [`Basic ${room.token()}`] }), 401, "the authorization header is not Bearer"],
  [
    "with a token over a certificate of another issuer's CA",
    () => ({ client: villager().client }),
    ...([401, "the token is not valid with this certificate"] as const),
  ],
  [
    "with a token that is bound to another certificate",
    () => bearer(room.token({ cnf: { "x5t#S256": thumbprint(room.newClient().cert) } })),
    ...([401, "the token is bound to another certificate"] as const),
  ],
  [
    "with a sidecar's certificate",
    () => ({ client: room.ca.issue({ uris: ["spiffe://town.example/ns/gt/session/s1"] }) }),
    ...([403, "the caller's certificate is a sidecar's"] as const),
  ],
  ["in another session", () => at("/acp/sess_124/coding?agent_id=agent_abc"), 403, "the token is for another session"],
  ["in another role", () => at("/acp/sess_123/testing?agent_id=agent_abc"), 403, "the token is for another role"],
  ["as another agent", () => at("/acp/sess_123/coding?agent_id=agent_abd"), 403, "the token is for another agent"],
  [
    "in a session that its issuer may not sign for",
    () => villager({ session_id: "sess_123" }),
    ...([403, "the token's issuer may not sign for this session"] as const),
  ],
  [
    "for a project that its issuer may not speak for",
    () => villager({ project_id: "q" }),
    ...([403, "the token's issuer may not act for this project"] as const),
  ],
  ["with the scope read", () => bearer(room.token({ scope: "read" })), 403, "an agent needs the scope operate"],
  ["from a page", () => ({ headers: { origin: "https://evil.example" } }), 403, 'origin "https://evil.example" is'],
  ["without agent_id", () => at("/acp/sess_123/coding"), 400, "agent_id is missing or malformed"],
  ["by a path with ..", () => at("/acp/x/../sess_123/coding?agent_id=agent_abc"), 400, "the path is /acp/"],
  ...(["x-session-id", "x-agent-role", "x-agent-id"] as const).map(
    (name): [string, () => RelayRequest, 400, string] => [
      `with another ${name}`,
      () => ({ headers: { [name]: "other" } }),
      ...([400, `the header ${name} differs`] as const),
    ],
  ),
];

/** The ways to connect, and to send a frame without WebSocket. */
const WAYS: readonly [string, string, RelayRequest][] = [
  ["by WebSocket", "upgrade", {}],
  ["by a stream of events", "GET", { method: "GET", headers: { accept: "text/event-stream" } }],
  ["with a frame", "POST", { method: "POST", headers: { "acp-connection-id": "none" } }],
];

describe.concurrent.each(WAYS)("an agent is refused %s, before the 101, and audited once", (_, call, way) => {
  it.each(REFUSED)("%s", async (_name, asked, status, reason) => {
    const wanted = asked();
    const answer = await room.ask({ ...way, ...wanted, headers: { ...way.headers, ...wanted.headers } });
    expect([answer.status, answer.audited.map(({ outcome }) => outcome)]).toEqual([status, ["refused"]]);
    expect(answer.audited[0]).toMatchObject({ event: "call", call: `relay.agents/${call} /acp/**` });
    expect(String(answer.audited[0]?.["reason"])).toMatch(new RegExp(`^${reason.replace(/[.*+?()[\]]/g, "\\$&")}`));
    expect(JSON.parse(answer.text)).toMatchObject({ message: answer.audited[0]?.["reason"] });
    expect(answer.headers["www-authenticate"]).toBe(status === 401 ? "Bearer" : undefined);
  });
});

describe("the handshake refuses, with one audit record,", () => {
  it.each<[string, () => RelayRequest["client"], string]>([
    ["without a certificate", () => undefined, "PEER_DID_NOT_RETURN_A_CERTIFICATE"],
    ["with a certificate of an unknown CA", () => new TestCa("x").issue({ cn: "x" }), ""],
    [
      "with a certificate that has expired",
      () => room.ca.issue({ uris: [], startDays: -3, days: -1 }),
      "CERT_HAS_EXPIRED",
    ],
  ])("an agent %s", async (_, client, reason) => {
    const before = (await room.audited()).length;
    expect((await room.ask({ client: client() })).status).toBe(0);
    const lines = await until("the audit", 60_000, async () => {
      const found = (await room.audited()).slice(before);
      return found.length > 0 ? found : undefined;
    });
    expect(lines).toMatchObject([{ event: "connection", outcome: "refused" }]);
    expect(String(lines[0]?.["reason"])).toContain(reason);
  });
});

it("an agent with a revoked certificate is refused", async () => {
  const client = room.newClient();
  await room.revoke(client);
  const answer = await until("the revocation", 60_000, async () => {
    const seen = await room.ask({ client });
    return seen.status === 101 ? undefined : seen;
  });
  expect(answer).toMatchObject({ status: 401, audited: [{ reason: "the caller's certificate is revoked" }] });
});

it("an agent is admitted by header or subprotocol, which is never echoed, and audited with its session and role", async () => {
  for (const asked of [
    {},
    { ...bearer(), headers: offering(`bearer.${room.token()}`, "relay.seed") },
    bearer(room.token({ cnf: { "x5t#S256": thumbprint(room.client.cert) } })),
    villager(),
  ]) {
    const answer = await room.ask(asked);
    expect([answer.status, answer.text]).toEqual([101, ""]);
    expect(answer.headers["sec-websocket-protocol"]).toBe("headers" in asked ? "relay.seed" : undefined);
    expect(answer.headers["acp-connection-id"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.audited).toMatchObject([
      { event: "call", outcome: "allowed", subject: "agent_abc", scope: "operate" },
      { event: "policy", outcome: "allowed", agent: "agent_abc", agent_role: "coding" },
    ]);
  }
});

it("no token is in the logs", async () => {
  await room.ask({ path: `/acp/sess_123/coding?agent_id=agent_abc&token=${room.token()}` });
  await room.ask({ ...bearer(), headers: offering(`bearer.${room.token()}`, "soap") });
  const audit = JSON.stringify(await room.audited());
  for (const text of [audit, room.relay.log]) expect(text).not.toContain("eyJ");
});
