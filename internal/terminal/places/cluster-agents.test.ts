import { expect, it } from "vitest";
import { agentPodOf } from "./cluster-agents.ts";

const ready = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };

function pod(metadata: object, env: readonly object[] = [], status: object = ready) {
  const facts = { namespace: "agents", name: "p", uid: "u-1", ...metadata };
  return agentPodOf({ metadata: facts, spec: { nodeName: "n", containers: [{ name: "agent", env }] }, status });
}
const labels = { "gastown.io/agent": "toast", "gastown.io/session": "5f4d", "gastown.io/provider": "demo" };
const own = {
  labels: { ...labels, "app.kubernetes.io/managed-by": "gastown" },
  annotations: { "gastown.io/address": "gastown/polecats/toast", "gastown.io/session-id": "a long: id" },
};

it("reads which agent a pod is, where it is and how to reach it", () => {
  expect(pod(own)).toEqual({
    ...{ namespace: "agents", name: "p", node: "n", provider: "demo", tls: true },
    ...{ agent: "gastown/polecats/toast", session: "a long: id", status: "running", reason: "", error: "" },
  });
});

it.each([
  ["its sidecar's setting", [{ name: "GT_SESSION_ID", value: "set" }], labels, "set"],
  ["its label", [], labels, "5f4d"],
  ["its uid", [{ name: "GT_SESSION_ID", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } }], {}, "u-1"],
])("takes the session of a foreign pod from %s, never from its annotation", (_, env, given, session) => {
  const annotations = { "gastown.io/session-id": "claimed" };
  expect(pod({ labels: { "gastown.io/agent": "toast", ...given }, annotations }, env)?.session).toBe(session);
});

it.each([
  [{ "gastown.io/rig": "gastown", "gastown.io/role": "polecat" }, "gastown/polecats/toast"],
  [{ "gastown.io/rig": "gastown" }, "gastown/toast"],
  [{}, "toast"],
])("derives the address of a pod that does not state it from the labels %j", (more, address) => {
  expect(pod({ labels: { ...labels, ...more } })?.agent).toBe(address);
});

it("uses plaintext only if the pod states it", () => {
  expect(pod(own, [{ name: "GT_SIDECAR_INSECURE", value: "1" }])?.tls).toBe(false);
  expect(pod(own, [{ name: "GT_SIDECAR_INSECURE", value: "0" }])?.tls).toBe(true);
});

it("reports a session that is kept after its end as stopped", () => {
  const annotations = { ...own.annotations, "gastown.io/stopped-at": "2026-01-01T00:00:00Z" };
  expect(pod({ ...own, annotations })?.status).toBe("stopped");
});

it.each([undefined, null, 7, {}, { metadata: { name: "p" } }])("returns undefined for %j", (value) => {
  expect(agentPodOf(value)).toBeUndefined();
});
