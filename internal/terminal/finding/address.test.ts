import { describe, expect, it } from "vitest";
import { DomainError } from "../../base/errors.ts";
import { addressMatches, formatAddress, parseAgentAddress } from "./address.ts";

describe("parseAddress", () => {
  it.each([
    ["mayor", { type: "town", role: "mayor" }],
    ["mayor/", { type: "town", role: "mayor" }],
    ["hq/mayor", { type: "town", role: "mayor" }],
    ["deacon", { type: "town", role: "deacon" }],
    ["boot", { type: "town", role: "boot" }],
    ["gastown/witness", { type: "rig-role", rig: "gastown", role: "witness" }],
    ["gastown/refinery/", { type: "rig-role", rig: "gastown", role: "refinery" }],
    ["gastown/toast", { type: "worker", rig: "gastown", name: "toast" }],
    ["gastown/polecats/toast", { type: "polecat", rig: "gastown", name: "toast" }],
    ["gastown/crew/max", { type: "crew", rig: "gastown", name: "max" }],
    ["toast", { type: "bare", name: "toast" }],
    ["gt-toast", { type: "bare", name: "gt-toast" }],
    ["host-1.example", { type: "bare", name: "host-1.example" }],
  ])("reads %s", (text, expected) => {
    expect(parseAgentAddress(text)).toEqual(expected);
  });

  it.each([
    "",
    "/",
    "a//b",
    "a/b/c",
    "a/polecats/b/c",
    "a/crew",
    "a/polecats/",
    "hq/toast",
    "mayor/toast",
    "-n",
    "=claude",
    "%1",
    "a b",
    "a:b",
    "a\nb",
    "a/-b",
    "toast//",
    "../x",
    "a".repeat(129),
  ])("refuses %j", (text) => {
    expect(() => parseAgentAddress(text)).toThrow(DomainError);
  });

  it.each(["mayor", "gastown/witness", "gastown/crew/max", "gastown/polecats/toast", "gastown/toast", "toast"])(
    "%s is already a full address",
    (text) => {
      expect(formatAddress(parseAgentAddress(text))).toBe(text);
    },
  );
});

describe("addressMatches", () => {
  it.each([
    ["toast", "gastown/polecats/toast", true],
    ["toast", "gastown/crew/toast", true],
    ["toast", "toast", true],
    ["toast", "gastown/polecats/toaster", false],
    ["gastown/toast", "gastown/polecats/toast", true],
    ["gastown/toast", "other/polecats/toast", false],
    ["gastown/crew/toast", "gastown/polecats/toast", false],
    ["mayor", "hq/mayor", true],
    ["gastown/witness", "gastown/witness", true],
    ["toast", "not an address", false],
  ])("%s means %s: %s", (asked, own, expected) => {
    expect(addressMatches(parseAgentAddress(asked), own)).toBe(expected);
  });
});
