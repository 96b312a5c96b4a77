import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Json } from "../../internal/base/json-fields.ts";
import { SeedAgent } from "../support/relay/seed-agent.ts";
import { openTrustedRelay, type RelayRequest, type TrustedRelay } from "../support/relay/trusted-relay.ts";
import { until } from "../support/sidecar/sidecar.ts";

const TIMES = { timeout: 300_000 };
const EXPIRED = "the token has expired, and no newer one was sent over this connection";
let room: TrustedRelay;
beforeAll(async () => {
  room = await openTrustedRelay();
});
afterAll(() => room?.[Symbol.asyncDispose]());

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

function dial(session: string, more: Json = {}, client = room.client): Promise<SeedAgent> {
  const headers = bearer(room.token({ session_id: session, ...more }));
  return SeedAgent.dial(`wss://127.0.0.1:${room.port}`, { session, headers, tls: { ...client, ca: room.ca.pem } });
}

const idOf = (agent: SeedAgent) => String(agent.opened?.headers["acp-connection-id"]);

function renew(session: string, connection: string, more: Json = {}) {
  return room.ask({
    method: "POST",
    path: `/acp/${session}/coding/token`,
    headers: { "acp-connection-id": connection },
    authorization: [`Bearer ${room.token({ session_id: session, ...more })}`],
  });
}

/** Checks that the relay reads and answers its messages. */
async function answers(agent: SeedAgent): Promise<void> {
  const before = agent.frames.length;
  agent.send("{");
  await until("an answer", 60_000, () => agent.frames.slice(before).find(({ value }) => "error" in value));
}

const at = (session: string, more: Json = {}): RelayRequest => ({
  path: `/acp/${session}/coding?agent_id=${String(more["agent_id"] ?? "agent_abc")}`,
  authorization: [`Bearer ${room.token({ session_id: session, ...more })}`],
});

it("409 and 429 are sent in place of the 101 and are audited once as refused", TIMES, async () => {
  using holder = await dial("held");
  const other = at("held", { agent_id: "agent_abd" });
  const first = await room.ask(other);
  const place = { session: "held", agent: "agent_abd", agent_role: "coding" };
  expect([first.status, first.audited]).toMatchObject([
    409,
    [{ outcome: "allowed" }, { event: "policy", outcome: "refused", code: "already-exists", ...place }],
  ]);
  const often = await until("too many", 200_000, async () => {
    const all = await Promise.all(Array.from({ length: 10 }, () => room.ask(other)));
    return all.find(({ status }) => status !== 409);
  });
  expect([
    often.status,
    often.headers["retry-after"],
    often.audited.filter((line) => line["outcome"] === "refused"),
  ]).toMatchObject([429, "1", [{ event: "policy", code: "exhausted", ...place }]]);
  expect(holder.closed).toBeUndefined();
});

it(
  "a connection ends with its token unless that was renewed, and a renewed one ends with the token's key",
  TIMES,
  async () => {
    const exp = Math.floor(Date.now() / 1000) + 30;
    using renewed = await dial("renewed", { exp });
    using left = await dial("left", { exp });
    const id = idOf(renewed);
    const refusals = [
      [renew("renewed", "none"), 404, "no such connection of this agent is open here"],
      [renew("left", id), 404, "no such connection of this agent is open here"],
      [renew("renewed", id, { agent_id: "other" }), 404, "no such connection of this agent is open here"],
      [renew("renewed", id, { session_id: "left" }), 403, "the token is for another session or role"],
      [renew("renewed", id, { sub: "other" }), 403, "the token has another issuer, subject or project"],
      [renew("renewed", id, { aud: "bridge" }), 401, "the token is for another audience"],
    ] as const;
    for (const [asked, status, reason] of refusals) {
      const answer = await asked;
      const refused = answer.audited.filter((line) => line["outcome"] === "refused");
      expect([answer.status, refused.map((line) => line["reason"])]).toEqual([
        status,
        [expect.stringContaining(reason)],
      ]);
    }
    expect(await renew("renewed", id, { exp: exp + 240 })).toMatchObject({ status: 204, text: "" });
    expect(await left.end()).toEqual({ code: 4401, reason: EXPIRED });
    await answers(renewed);
    const ended = (await room.audited()).filter(({ outcome }) => outcome === "ended");
    expect(ended).toMatchObject([{ call: "relay.agents/upgrade /acp/**", code: "unauthenticated", reason: EXPIRED }]);
    await room.putKey(generateKeyPairSync("ed25519").publicKey);
    expect(await renewed.end()).toMatchObject({ code: 4401 });
    expect(await room.ask()).toMatchObject({ status: 401 });
    await room.putKey(room.keys.town.publicKey);
  },
);

it("a connection ends when its certificate is revoked", TIMES, async () => {
  await until("the key", 60_000, async () => ((await room.ask()).status === 101 ? true : undefined));
  const client = room.newClient();
  using agent = await dial("revoked", {}, client);
  using other = await dial("other");
  await room.revoke(client);
  expect(await agent.end()).toEqual({ code: 4401, reason: "the caller's certificate is revoked" });
  await answers(other);
  const isGone = (line: Json) => line["action"] === "agent_disconnected" && line["session_id"] === "revoked";
  const gone = await until("the log", 60_000, () => room.relay.lines.find(isGone));
  expect(gone["code"]).toBe(4401);
});

it("503 is the answer while NATS is down, and is audited once as refused", TIMES, async () => {
  await room.nats.kill();
  const refused = await until("a refusal", 60_000, async () => {
    const answer = await room.ask(at("away"));
    return answer.status === 101 ? undefined : answer;
  });
  const lines = refused.audited.filter((line) => line["outcome"] === "refused");
  expect([refused.status, lines]).toMatchObject([503, [{ event: "policy", code: "unavailable", session: "away" }]]);
});
