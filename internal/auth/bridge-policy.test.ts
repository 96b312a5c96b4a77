import { describe, expect, it } from "vitest";
import { attachRefusal, projectRefusal, roleRefusal, sessionRefusal } from "./bridge-policy.ts";
import type { Role } from "./roles.ts";

const as = (role: Role, project = "p") => ({ role, project });

describe("an RPC", () => {
  it.each<[Role | "nobody", string[]]>([
    ["read", ["GetSession", "ListSessions", "ListProviders", "Health", "StreamEvents", "AckEvents", "WatchSessions"]],
    ["read", ["Peek", "Status", "WatchOutput", "Attach"]],
    ["nudge", ["SendInput", "Nudge", "GetNudge", "CancelNudge"]],
    ["operate", ["StartSession", "StopSession", "SendKeys", "Respond"]],
    ["nobody", ["Format", "constructor", ""]],
  ])("needs %s: %j", (needed, methods) => {
    const roles: readonly Role[] = ["read", "nudge", "operate"];
    const refused = roles.slice(0, needed === "nobody" ? 3 : roles.indexOf(needed));
    for (const method of methods) {
      expect(roles.filter((role) => roleRefusal(as(role), method)?.kind === "denied")).toEqual(refused);
    }
  });
});

it("another project's session is answered as not found", () => {
  expect(sessionRefusal(as("operate"), "s", { project: "p" })).toBeUndefined();
  const [theirs, none] = [
    sessionRefusal(as("operate"), "s", { project: "q" }),
    sessionRefusal(as("operate"), "s", undefined),
  ];
  expect(theirs).toMatchObject({ kind: "not-found", message: none?.message, fields: {} });
});

it("a hostile session id is reported as printable text", () => {
  const message = sessionRefusal(as("operate"), "a\x1b[2J\x9d0;\u202eb", undefined)?.message;
  expect(message).toBe('no session "a\\u001b[2J\\u009d0;\\u202eb"');
});

it("a project in a request must be the token's", () => {
  expect(projectRefusal(as("operate"), "p")).toBeUndefined();
  for (const project of ["q", "", "P"])
    expect(projectRefusal(as("operate"), project)).toMatchObject({ kind: "denied" });
});

it("typing into a terminal takes a higher scope than looking at it", () => {
  expect(attachRefusal(as("read"), true)).toBeUndefined();
  expect(attachRefusal(as("nudge"), false)).toMatchObject({ kind: "denied" });
  expect(attachRefusal(as("operate"), false)).toBeUndefined();
});
