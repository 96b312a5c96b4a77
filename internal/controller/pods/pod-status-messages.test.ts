import { describe, expect, it } from "vitest";
import { ended, READY, recorded, waiting } from "../../../test/support/cluster/recorded-pods.ts";
import { podVerdict, refusalVerdict } from "./pod-status.ts";

describe("the pod of a session that was stopped, or has a strange message", () => {
  it("is stopping while it runs, and stopped after its end", () => {
    const stopping = { stopping: true };
    expect(podVerdict(recorded({ phase: "Running", conditions: READY }), stopping).status).toBe("stopping");
    expect(podVerdict(recorded({ phase: "Failed", containerStatuses: [ended(143, "Error")] }), stopping).status).toBe(
      "stopped",
    );
    const drained = [{ type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" }];
    const late = recorded({ phase: "Succeeded", conditions: drained, containerStatuses: [ended(0, "Completed")] });
    expect(podVerdict(late, stopping)).toEqual({ status: "stopped", reason: "", error: "" });
  });

  it("is stopping, and not stopped, while its node is silent", () => {
    const silent = [{ type: "Ready", status: "Unknown", reason: "NodeStatusUnknown" }];
    const pod = recorded({ phase: "Running", conditions: silent });
    expect([podVerdict(pod).status, podVerdict(pod, { stopping: true }).status]).toEqual(["running", "stopping"]);
    expect(podVerdict(pod, { stopping: true }).reason).toBe("NodeLost");
  });

  it("shows the cluster's message as one bounded line without control characters", () => {
    const message = `a\u001b[31mb\nc ${"x".repeat(1000)}`;
    const { error } = podVerdict(recorded({ phase: "Pending", containerStatuses: [waiting("ErrImagePull", message)] }));
    expect(error).toMatch(/^cannot get the image of agent: a \[31mb c x+…$/);
    expect(error.length).toBeLessThan(340);
  });
});

it.for([
  [
    403,
    'pods "a" is forbidden: exceeded quota: agents, requested: pods=1, used: pods=5, limited: pods=5',
    "QuotaExceeded",
  ],
  [403, 'pods "a" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true', "PodSecurity"],
  [403, 'pods "a" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi', "AdmissionRefused"],
  [422, 'ValidatingAdmissionPolicy "gastown-labels" denied request: labels', "AdmissionRefused"],
  [400, 'admission webhook "x" denied the request: no', "AdmissionRefused"],
  [500, "etcdserver: request timed out", "CreateFailed"],
] as const)("a pod that is refused with %d %s has the reason %s", ([code, message, reason]) => {
  expect(refusalVerdict(code, message)).toMatchObject({ status: "failed", reason });
});
