import { describe, expect, it } from "vitest";
import { adoptedSecretName, labelledAddress, labelValue, podName, secretName } from "./names.ts";

describe("the name of a session's pod", () => {
  it("is the same for the same project and id, and different in another project", () => {
    expect(podName("shop", "one")).toBe(podName("shop", "one"));
    expect(podName("shop", "one")).not.toBe(podName("desk", "one"));
  });

  it.for(["Fix.Login_2", "fix-login-2", "FIX-LOGIN-2"])("%s has its own name", (id) => {
    const all = ["Fix.Login_2", "fix-login-2", "FIX-LOGIN-2"].map((one) => podName("shop", one));
    expect(all.filter((name) => name === podName("shop", id))).toHaveLength(1);
  });

  it.for(["a", "-", "...", "x".repeat(128), "Ä-not-allowed-anyway", `${"a-".repeat(40)}`])(
    "is a host name with room for its Secret's suffix: %s",
    (id) => {
      const name = podName("shop", id);
      expect(name).toMatch(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/);
      expect(secretName(name).length).toBeLessThanOrEqual(63);
    },
  );

  it("differs for a project and an id that share their letters", () => {
    expect(podName("a", "bc")).not.toBe(podName("ab", "c"));
  });
});

it("names an adopted pod's Secret by its uid alone", () => {
  expect(adoptedSecretName(undefined, "0b1e")).toMatch(/^gastown-[0-9a-f]{32}-tls$/);
  expect(adoptedSecretName(undefined, "0b1e")).not.toBe(adoptedSecretName(undefined, "0b1f"));
  expect(adoptedSecretName("toast", "0b1e")).toBe("gastown-session-toast");
  expect(adoptedSecretName("Toast_1.b", "0b1e")).toMatch(/^gastown-session-[0-9a-f]{32}$/);
});

it.for([
  ["toast", "gastown", "polecat", "gastown/polecats/toast"],
  ["ann", "gastown", "crew", "gastown/crew/ann"],
  ["witness", "gastown", "witness", "gastown/witness"],
  ["toast", "gastown", "", "gastown/toast"],
  ["mayor", "", "mayor", "mayor"],
  ["toast", "", "polecat", "toast"],
  ["", "gastown", "polecat", ""],
] as const)("the labels agent %j, rig %j and role %j form the address %j", ([agent, rig, role, address]) => {
  const labels = { "gastown.io/agent": agent, "gastown.io/rig": rig, "gastown.io/role": role };
  expect(labelledAddress(labels)).toBe(address);
});

it.for([
  ["toast", "toast"],
  ["a.b_c-d", "a.b_c-d"],
  ["x".repeat(63), "x".repeat(63)],
] as const)("%s is its own label value", ([text, value]) => {
  expect(labelValue(text)).toBe(value);
});

it.for(["ends-with-", ".begins", "x".repeat(64), "a/b", "ü"])("%s becomes a hash as a label", (text) => {
  expect(labelValue(text)).toMatch(/^[0-9a-f]{32}$/);
});
