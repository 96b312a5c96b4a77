import { describe, expect, it } from "vitest";
import { parseAgentAddress } from "./address.ts";
import { type AgentPod, checkReachable, choosePod } from "./agent-pods.ts";

function pod(agent: string, change: Partial<AgentPod> = {}): AgentPod {
  const name = `pod-${agent.replaceAll("/", "-")}`;
  const facts = { provider: "demo", node: "n", status: "running", reason: "", error: "", tls: true } as const;
  return { namespace: "agents", name, agent, session: `s-${name}`, ...facts, ...change };
}

const choose = (asked: string, ...pods: readonly AgentPod[]) => choosePod(parseAgentAddress(asked), pods)?.name;

describe("the pod of an agent", () => {
  const toast = pod("gastown/polecats/toast");

  it.each(["gastown/polecats/toast", "gastown/toast", "toast", "s-pod-gastown-polecats-toast"])(
    "is found by %s",
    (asked) => {
      expect(choose(asked, pod("mayor"), toast)).toBe(toast.name);
    },
  );

  it("is undefined if no agent matches", () => {
    expect(choose("gastown/crew/toast", toast)).toBeUndefined();
  });

  it("is the running one of several pods with the same address", () => {
    const ended = pod(toast.agent, { name: "old", status: "stopped" });
    expect(choose("toast", ended, toast)).toBe(toast.name);
    expect(choose("toast", ended)).toBe("old");
  });

  it("is the one whose session has that id, even if another agent has that name", () => {
    expect(choose("one", pod("y/polecats/one"), pod("x", { name: "meant", session: "one" }))).toBe("meant");
  });

  it("is never guessed: two matches are an error that names both", () => {
    const other = pod(toast.agent, { namespace: "more", session: "s-2" });
    expect(() => choose("toast", toast, other)).toThrow(
      '"toast" is ambiguous: gastown/polecats/toast (session s-pod-gastown-polecats-toast, pod agents/pod-gastown-polecats-toast), gastown/polecats/toast (session s-2, pod more/pod-gastown-polecats-toast)',
    );
  });
});

describe("a pod that cannot be reached", () => {
  it.each([
    ["starting", "unavailable", "pod agents/pod-a is not ready yet (Unschedulable: no node accepts the pod)"],
    ["failed", "precondition", "pod agents/pod-a has failed (Unschedulable: no node accepts the pod)"],
    ["stopped", "precondition", "pod agents/pod-a has ended (Unschedulable: no node accepts the pod)"],
  ] as const)("because it is %s is reported with the reason", (status, kind, message) => {
    const one = pod("a", { status, reason: "Unschedulable", error: "no node accepts the pod" });
    expect(() => checkReachable(one)).toThrow(expect.objectContaining({ kind, message }));
  });

  it("is none that is running or about to stop", () => {
    checkReachable(pod("a"));
    checkReachable(pod("a", { status: "stopping", reason: "Terminating" }));
  });
});
