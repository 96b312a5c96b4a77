import { describe, expect, it } from "vitest";
import { controllerRule, includes, parseRoleRule, roleOf } from "./roles.ts";

const rules = [
  "spiffe://town/ns/*/controller=operate",
  "spiffe://town/client/ann=read",
  "spiffe://town/client/*=nudge",
].map(parseRoleRule);

describe("roles", () => {
  it("match exactly one segment with a star", () => {
    expect(roleOf(["spiffe://town/ns/a/controller"], rules)).toBe("operate");
    expect(roleOf(["spiffe://town/ns/a/b/controller"], rules)).toBeUndefined();
    expect(roleOf(["spiffe://town/ns/controller"], rules)).toBeUndefined();
  });

  it("give the highest of the roles that match", () => {
    expect(roleOf(["spiffe://town/client/ann"], rules)).toBe("nudge");
  });

  it("grant nothing to a stranger, to another trust domain or without an identity", () => {
    expect(roleOf(["spiffe://other/client/ann"], rules)).toBeUndefined();
    expect(roleOf(["spiffe://town/ns/a/session/1"], rules)).toBeUndefined();
    expect(roleOf([], rules)).toBeUndefined();
  });

  it("include the lower roles in the higher ones", () => {
    expect(includes("operate", "read")).toBe(true);
    expect(includes("nudge", "operate")).toBe(false);
    expect(includes(undefined, "read")).toBe(false);
  });

  it("are granted to the controllers of the own trust domain by default", () => {
    const own = controllerRule(["spiffe://town/ns/agents/session/1"]);
    expect(roleOf(["spiffe://town/ns/x/controller"], own)).toBe("operate");
    expect(roleOf(["spiffe://other/ns/x/controller"], own)).toBeUndefined();
    expect(roleOf(["spiffe://town/client/ann"], own)).toBeUndefined();
    expect(controllerRule([])).toEqual([]);
    expect(controllerRule(["spiffe://*/ns/a/session/1"])).toEqual([]);
  });

  it("match no empty segment with `*`", () => {
    const anyone = [parseRoleRule("spiffe://town/ns/*/controller=operate")];
    expect(roleOf(["spiffe://town/ns/x/controller"], anyone)).toBe("operate");
    expect(roleOf(["spiffe://town/ns//controller"], anyone)).toBeUndefined();
  });

  it("are granted to names below a CA, too", () => {
    const ca = "0a".repeat(32);
    const [one, all] = [`${ca}/prd%20manager=read`, `${ca.toUpperCase().replace(/..(?=.)/g, "$&:")}/*=nudge`];
    expect(roleOf([`${ca}/prd%20manager`], [parseRoleRule(one)])).toBe("read");
    expect(roleOf([`${ca}/prd`], [parseRoleRule(one)])).toBeUndefined();
    expect(roleOf([`${ca}/prd`], [parseRoleRule(all)])).toBe("nudge");
    expect(roleOf([`${ca.replace("0a", "0b")}/prd`], [parseRoleRule(all)])).toBeUndefined();
  });

  it.each([
    "",
    `${"0a".repeat(32)}/a b=read`,
    `${"0a".repeat(32)}/=read`,
    `${"0a".repeat(31)}/a=read`,
    "*/a=read",
    "spiffe://town/a",
    "spiffe://town/a=root",
    "https://town/a=read",
    "spiffe://*/a=read",
    "spiffe://town/a=read=x",
  ])("are refused if the rule is %j", (text) => expect(() => parseRoleRule(text)).toThrow("not a rule"));
});
