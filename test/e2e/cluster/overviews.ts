import { expect, it } from "vitest";
import { SessionStatus, type SessionUpdate } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import { AgentState } from "../../../internal/gen/gastown/v1/common_pb.ts";
import { reaches, type useTwoReplicas } from "../../support/cluster/two-replicas.ts";
import { until } from "../../support/sidecar/sidecar.ts";

const LIMIT_MS = 600_000;
const WAIT_MS = 60_000;

/** Tests the updates that watchers of a project's sessions receive. */
export function overviews(pair: ReturnType<typeof useTwoReplicas>): void {
  it("a watch by label shows the agent's state, a nudge's receipt, the agent's exit, and the session's removal", {
    timeout: LIMIT_MS,
  }, async (context) => {
    await pair.here(context);
    const { first, second } = pair;
    const sessionId = "leaves";
    await first.client.startSession({ projectId: "shop", sessionId, provider: "busy", repoPath: "/workspace" });
    await reaches(second, sessionId, SessionStatus.RUNNING);
    const told: SessionUpdate[] = [];
    const stop = new AbortController();
    const watching = (async () => {
      const labels = { "gastown.io/session": sessionId };
      for await (const update of second.client.watchSessions({ labels }, { signal: stop.signal })) told.push(update);
    })().catch(() => {});
    const sees = (what: string, isSo: (update: SessionUpdate) => boolean) =>
      until(what, WAIT_MS, () => told.some(isSo) || undefined, second.log);
    await sees("the session", ({ session }) => session?.status === SessionStatus.RUNNING);
    const request = { message: "hello", requestId: "seen" };
    await first.client.nudge({ sessionId, request });
    await sees("the nudge's receipt", ({ lastReceipt }) => lastReceipt?.requestId === "seen");
    const isBusy = ({ status }: SessionUpdate) => status?.state === AgentState.BUSY;
    await sees("the agent at work", isBusy);
    const busyAt = told.find(isBusy)?.seq ?? 0n;
    await first.client.sendKeys({ sessionId, request: { keys: ["Escape"] } }); // ends the turn
    await sees("the agent at rest", ({ status, seq }) => status?.state === AgentState.IDLE && seq > busyAt);
    await first.client.sendKeys({ sessionId, request: { text: "/exit" } });
    await first.client.sendKeys({ sessionId, request: { keys: ["Enter"] } });
    await reaches(second, sessionId, SessionStatus.STOPPED);
    const kept: boolean[] = [];
    for await (const { done } of second.client.streamEvents({ sessionId, afterSeq: 0n })) kept.push(done);
    expect(kept.at(-1)).toBe(true);
    await sees("the session's removal after the retention", ({ gone }) => gone);
    stop.abort();
    await watching;
    expect(new Set(told.map(({ session }) => session?.sessionId))).toEqual(new Set([sessionId]));
  });
}
