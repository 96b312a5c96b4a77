import { observePod } from "../../../internal/controller/pods/observed-pod.ts";

export type Recorded = Readonly<Record<string, unknown>>;

const METADATA = {
  name: "agent-one",
  namespace: "agents",
  uid: "u1",
  resourceVersion: "7",
  creationTimestamp: "2026-01-01T00:00:00Z",
};
export const READY = [{ type: "Ready", status: "True" }];
export const NOT_READY = [{ type: "Ready", status: "False", reason: "ContainersNotReady" }];

/** A pod as the API server sends it. */
export function recorded(status: Recorded, more: { readonly metadata?: Recorded; readonly spec?: Recorded } = {}) {
  return observePod({ metadata: { ...METADATA, ...more.metadata }, spec: { nodeName: "node1", ...more.spec }, status });
}

export const container = (state: Recorded, more: Recorded = {}) => ({
  name: "agent",
  ready: false,
  started: false,
  restartCount: 0,
  state,
  ...more,
});
export const waiting = (reason: string, message = "") => container({ waiting: { reason, message } });
export const ended = (exitCode: number, reason: string, message = "") =>
  container({ terminated: { exitCode, reason, message } });
