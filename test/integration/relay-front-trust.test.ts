import { afterAll, beforeAll, expect, it } from "vitest";
import { openTrustedRelay, type RelayRequest, type TrustedRelay } from "../support/relay/trusted-relay.ts";

let room: TrustedRelay;
beforeAll(async () => {
  room = await openTrustedRelay();
}, 120_000);
afterAll(() => room?.[Symbol.asyncDispose]());

const at = (query: string, claims: object = {}): RelayRequest => ({
  path: `/acp${query}`,
  authorization: [`Bearer ${room.token({ ...claims })}`],
});

const LANE = "?session=sess_123&role=coding";

it.each<[string, () => RelayRequest, number, string]>([
  ["with a token of its lane", () => at(LANE), 101, ""],
  ["with a token that names the lane", () => at(""), 101, ""],
  ["with the scope nudge", () => at(LANE, { scope: "nudge" }), 101, ""],
  ["without a token", () => ({ path: `/acp${LANE}`, authorization: [] }), 401, "the call has no token"],
  ["without a certificate", () => ({ ...at(LANE), client: undefined }), 0, ""],
  ["with the scope read", () => at(LANE, { scope: "read" }), 403, "a prompt needs the scope nudge"],
  ["for another session", () => at("?session=sess_124&role=coding"), 403, "the token is for another session"],
  ["for another role", () => at("?role=review"), 403, "the token is for another role"],
  ["with a bridge's token", () => at(LANE, { aud: "bridge" }), 401, "the token is for another audience"],
  ["for two sessions", () => at("?session=a&session=sess_123"), 400, "session is not a name"],
])("an editor is admitted or refused %s", { timeout: 120_000 }, async (_, asked, status, reason) => {
  const { status: answered, text, headers, audited } = await room.ask(asked());
  expect(answered).toBe(status);
  expect(text).toContain(reason);
  if (status === 101) expect(headers["acp-connection-id"]).toMatch(/^[0-9a-f-]{36}$/);
  if (status > 0) expect(audited.map(({ outcome }) => outcome)).toEqual([status === 101 ? "allowed" : "refused"]);
});
