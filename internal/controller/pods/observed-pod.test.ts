import { describe, expect, it } from "vitest";
import { ANNOTATIONS, CERTIFICATE_GATE } from "./names.ts";
import { observePod } from "./observed-pod.ts";

const MEGABYTE = 1_000_000;

/** A pod as large as the API server accepts, in every field that its creator may write. */
function largePod(labels: Readonly<Record<string, string>> = {}) {
  const names = Array.from({ length: 10_000 }, (_, i) => `gastown.io/a-name-of-some-length-${i}`);
  const annotations = {
    ...Object.fromEntries(names.map((name) => [name, "x".repeat(20)])),
    [ANNOTATIONS.address]: "shop/crew/one",
    [ANNOTATIONS.agentOpts]: JSON.stringify({ model: "x".repeat(250_000) }),
  };
  const filler = Object.fromEntries(names.map((name) => [name, "x".repeat(60)]));
  const schedulingGates = [{ name: CERTIFICATE_GATE }, ...names.map((name) => ({ name }))];
  return { metadata: { name: "one", labels: { ...labels, ...filler }, annotations }, spec: { schedulingGates } };
}

describe("an observed pod", () => {
  it("keeps little, however much its creator has written into it", () => {
    const pod = largePod({ "gastown.io/agent": "one" });
    expect(JSON.stringify(pod).length).toBeGreaterThan(MEGABYTE);
    const kept = observePod(pod);
    expect(JSON.stringify(kept).length).toBeLessThan(10_000);
    expect(kept.annotations).toEqual({ [ANNOTATIONS.address]: "shop/crew/one" });
    expect(kept.labels["gastown.io/agent"]).toBe("one");
    expect(kept.gates).toContain(CERTIFICATE_GATE);
  });

  it("keeps little of a status, however much is written into it", () => {
    const long = "x".repeat(MEGABYTE / 100);
    const end = { exitCode: 1, reason: long, message: long };
    const container = {
      name: "agent",
      state: { waiting: { reason: long, message: long } },
      lastState: { terminated: end },
    };
    const containerStatuses = Array.from({ length: 1000 }, () => container);
    const conditions = Array.from({ length: 1000 }, () => ({
      type: "Ready",
      status: "True",
      reason: long,
      message: long,
    }));
    const texts = { phase: long, reason: long, message: long, podIP: long };
    const status = { ...texts, conditions, containerStatuses, initContainerStatuses: containerStatuses };
    const volumes = [{ name: "tls", secret: { secretName: long } }];
    const kept = observePod({ metadata: { name: "one" }, spec: { volumes }, status });
    expect(JSON.stringify(kept).length).toBeLessThan(60_000);
    expect(kept.status.conditions).toMatchObject([{ type: "Ready", status: "True" }]);
  });

  it("keeps all that a controller has written into its own", () => {
    const pod = largePod({ "app.kubernetes.io/managed-by": "gastown" });
    expect(observePod(pod).annotations[ANNOTATIONS.agentOpts]).toHaveLength(250_012);
  });
});
