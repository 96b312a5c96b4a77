import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { attachRefusal } from "../../internal/auth/bridge-policy.ts";
import { DomainError } from "../../internal/base/errors.ts";
import type { SignalBus } from "../../internal/base/signal-bus.ts";
import type { BridgeService, GetSessionResponse, SessionEvent } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { UpdateKind } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { claimsOf } from "./two-layer-server.ts";

/** A session of `FakeBridge`. */
export interface FakeSession {
  info: GetSessionResponse;
  epoch: string;
  /** The events that are kept; the first may be later than 1. */
  events: SessionEvent[];
  readonly changed: SignalBus;
  readonly acked: Map<string, bigint>;
  readonly nudges: Map<string, string>;
  /** Keys that were pressed. */
  readonly keys: string[];
  ended: boolean;
}

/** The session of an id; rejects an unknown id, and a caller who may not see the session. */
type Find = (id: string, context: HandlerContext) => FakeSession;

/**
 * The calls of `FakeBridge` that need a terminal. `terminal` rejects a session without one; `input` takes a nudge's
 * text as the session's input.
 */
export function terminalCalls(
  find: Find,
  terminal: Find,
  input: (id: string, text: string, key: string, context: HandlerContext) => unknown,
) {
  const receipt = (requestId: string) => ({ delivered: true, outcome: NudgeOutcome.SUBMITTED, requestId });
  return {
    peek: ({ sessionId, request }, context) => {
      terminal(sessionId, context);
      return { output: "the last line\n".repeat(Math.max(1, request?.lines ?? 1)).trimEnd(), sessionAlive: true };
    },
    status: ({ sessionId }, context) => {
      const { info } = terminal(sessionId, context);
      const who = { sessionId, projectId: info.projectId, provider: info.provider, agent: info.agent };
      return { sessionAlive: true, state: AgentState.IDLE, agentPhase: "idle", ...who };
    },
    async *watchOutput({ sessionId }, context) {
      find(sessionId, context);
      yield { kind: UpdateKind.SNAPSHOT, output: "the last line", sessionAlive: true };
      yield { kind: UpdateKind.END, sessionAlive: false, endReason: "agent ended" };
    },
    nudge: ({ sessionId, request }, context) => {
      terminal(sessionId, context);
      input(sessionId, request?.message ?? "", request?.requestId ?? "", context);
      return receipt(request?.requestId ?? "");
    },
    getNudge: ({ sessionId, request }, context) => {
      const id = request?.requestId ?? "";
      if (!find(sessionId, context).nudges.has(id))
        throw new DomainError("not-found", `no nudge ${JSON.stringify(id)}`);
      return receipt(id);
    },
    cancelNudge: ({ sessionId, request }, context) => {
      find(sessionId, context);
      return { outcome: NudgeOutcome.CANCELLED, requestId: request?.requestId ?? "" };
    },
    sendKeys: ({ sessionId, request }, context) => {
      find(sessionId, context).keys.push(...(request?.keys ?? []));
      return { sent: true };
    },
    respond: ({ sessionId }, context) => {
      find(sessionId, context);
      return {};
    },
    async *attach(inputs, context) {
      for await (const { sessionId, request } of inputs) {
        const input = request?.input;
        if (input?.case === "hello") {
          find(sessionId, context);
          const refusal = attachRefusal(claimsOf(context), input.value.readOnly);
          if (refusal) throw refusal;
        } else if (input?.case === "data") yield { output: { case: "data" as const, value: input.value } };
      }
      yield { output: { case: "end" as const, value: { reason: "detached" } } };
    },
  } satisfies Partial<ServiceImpl<typeof BridgeService>>;
}
