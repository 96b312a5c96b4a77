import { describe, expect, it } from "vitest";
import { laneOfNew, laneOfSession, readFrontPlace } from "./front-place.ts";

const open = { sessionId: undefined, role: undefined };
const fixed = { sessionId: "s", role: "r" };
const said = (relay: object) => ({ _meta: { relay } }) as never;

describe("a connection", () => {
  it.each([
    ["/acp", open],
    ["http://relay/acp?session=s&role=r", fixed],
    ["/acp?role=r", { ...open, role: "r" }],
  ])("%s", (url, place) => {
    expect(readFrontPlace(url)).toEqual(place);
  });

  it.each(["/acp?session=s&session=t", "/acp?role=", "/acp?role=a.b", "/acp?role=%2A", "/acp?other=1"])(
    "refuses %s",
    (url) => {
      expect(() => readFrontPlace(url)).toThrow(expect.objectContaining({ kind: "invalid" }));
    },
  );
});

describe("a new session", () => {
  it("is the connection's lane, the named one, or a new session of the role", () => {
    expect(laneOfNew(fixed, {})).toEqual({ sessionId: "s", role: "r" });
    expect(laneOfNew(open, said({ session: "a", role: "b" }))).toEqual({ sessionId: "a", role: "b" });
    const made = [1, 2].map(() => laneOfNew({ ...open, role: "r" }, {}).sessionId);
    expect(made[0]).toMatch(/^editor-[0-9a-f-]{36}$/);
    expect(new Set(made).size).toBe(2);
  });

  it("is refused without a role, without a name, or if the connection is for another one", () => {
    for (const [place, params] of [
      [open, {}],
      [open, said({ role: "a b" })],
      [fixed, said({ session: "t" })],
      [fixed, said({ role: "q" })],
    ] as const) {
      expect(() => laneOfNew(place, params)).toThrow(expect.objectContaining({ kind: "invalid" }));
    }
  });
});

it("a session's id names its lane, if the connection is for it", () => {
  expect(laneOfSession(open, "a:b")).toEqual({ sessionId: "a", role: "b" });
  expect(() => laneOfSession(fixed, "t:r")).toThrow(expect.objectContaining({ kind: "not-found" }));
  for (const id of ["a", "a:b:c", "a:*", 7, undefined, null, {}]) {
    expect(() => laneOfSession(open, id)).toThrow(expect.objectContaining({ kind: "invalid" }));
  }
});
