import { describe, expect, it } from "vitest";
import { blockedBy, causeOf, isPersonPresent, mustDefer } from "./wake-blocks.ts";

const status = { alive: true, state: "idle", stateSince: 0, epoch: "e", draft: false };

describe("the reason why a queued wake is not typed", () => {
  it.each([
    ["an agent at work", { state: "busy" }, { by: "busy" }],
    ["an agent that is starting", { state: "starting" }, { by: "busy" }],
    ["an agent that waits for its limit", { state: "parked" }, { by: "parked" }],
    ["a draft", { draft: true }, { by: "draft" }],
    ["a draft of one at work", { state: "busy", draft: true }, { by: "busy" }],
    ["an idle one: its sidecar waits for quiet", {}, { by: "person" }],
    ["a dialog", { state: "dialog", dialogTitle: "Trust\u001b[31m\nthis?" }, { by: "dialog", title: "Trust this?" }],
  ])("%s", (_, part, block) => {
    expect(blockedBy({ ...status, ...part })).toEqual(block);
  });

  it("is a runtime that does not answer", () => {
    expect(blockedBy(undefined)).toEqual({ by: "unreachable" });
  });

  it("has a title of 120 characters at most", () => {
    expect(blockedBy({ ...status, state: "dialog", dialogTitle: "é".repeat(500) }).title).toHaveLength(120);
  });
});

describe("a person at the keys", () => {
  it.each([
    ["has never typed", {}, false],
    ["typed 20 s ago", { personInputAt: 80_000 }, false],
    ["typed less than 20 s ago", { personInputAt: 80_001 }, true],
    ["has left a draft", { personInputAt: 1, draft: true }, true],
  ])("%s", (_, part, present) => {
    expect(isPersonPresent({ ...status, ...part }, 20_000, 100_000)).toBe(present);
  });

  it("has the wake withdrawn after the longest deferral, not before; a busy agent never", () => {
    expect(mustDefer("person", 59_999, 60_000)).toBe(false);
    expect(mustDefer("person", 60_000, 60_000)).toBe(true);
    expect(mustDefer("draft", 60_000, 60_000)).toBe(true);
    for (const by of ["busy", "dialog", "parked", "unreachable"]) expect(mustDefer(by, 1e9, 60_000)).toBe(false);
    expect([causeOf("draft"), causeOf("person"), causeOf("dialog")]).toEqual(["person", "person", "dialog"]);
  });
});
