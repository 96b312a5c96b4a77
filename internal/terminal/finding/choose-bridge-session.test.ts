import { expect, it } from "vitest";
import { chooseBridgeSession, type ListedSession } from "./choose-bridge-session.ts";

const session = (id: string, agent = "", live = true): ListedSession => ({ id, agent, live });
const SESSIONS = [
  session("s1", "gastown/polecats/toast", false),
  session("s2", "gastown/polecats/toast"),
  session("s3", "gastown/crew/max"),
  session("s4", "other/crew/max"),
  session("toast"),
];

it.each([
  ["s1", "s1"],
  ["toast", "toast"],
  ["gastown/toast", "s2"],
  ["gastown/polecats/toast", "s2"],
  ["gastown/max", "s3"],
  ["other/crew/max", "s4"],
])("chooses for %s session %s", (asked, id) => {
  expect(chooseBridgeSession(asked, SESSIONS).id).toBe(id);
});

it("chooses an ended session if no live one matches", () => {
  expect(chooseBridgeSession("gastown/toast", SESSIONS.slice(0, 1)).id).toBe("s1");
});

it("fails if several match", () => {
  expect(() => chooseBridgeSession("max", SESSIONS)).toThrow(
    '"max" is ambiguous: gastown/crew/max (session s3), other/crew/max (session s4); give the session id',
  );
});

it("lists the running sessions if there is no such session", () => {
  expect(() => chooseBridgeSession("nobody", SESSIONS.slice(0, 3))).toThrow(
    'no session or agent "nobody"; running there: gastown/polecats/toast (session s2), gastown/crew/max (session s3)',
  );
  expect(() => chooseBridgeSession("nobody", [])).toThrow("no session is running there");
});
