import { create } from "@bufbuild/protobuf";
import { type CallOptions, type Client, Code, ConnectError } from "@connectrpc/connect";
import { type BridgeService, type GetSessionResponse, SessionStatus } from "../gen/bridge/v1/bridge_pb.ts";
import { AgentState, EvidenceConfidence } from "../gen/gastown/v1/common_pb.ts";
import {
  type SidecarAttachInput,
  SidecarNudgeRequestSchema,
  SidecarNudgeResponseSchema,
  SidecarStatusResponseSchema,
} from "../gen/gastown/v1/sidecar_pb.ts";
import type { SidecarCalls } from "./grpc-sidecar.ts";

/**
 * One session of a bridge, called as a sidecar is. A session without a terminal takes nudges as input and has a status as far
 * as the bridge knows it; its other calls are `unimplemented`.
 */
export function bridgeCalls(client: Client<typeof BridgeService>, sessionId: string): Omit<SidecarCalls, "stopAgent"> {
  return {
    peek: (request, options) => client.peek({ sessionId, request }, options),
    status: (request, options) =>
      client
        .status({ sessionId, request }, options)
        .catch(withoutTerminal(async () => sessionStatus(await client.getSession({ sessionId }, options)))),
    watchOutput: (request, options) => client.watchOutput({ sessionId, request }, options),
    nudge: (request, options) => {
      const nudge = create(SidecarNudgeRequestSchema, request);
      const asInput = () => input(client, sessionId, nudge, options);
      return client.nudge({ sessionId, request: nudge }, options).catch(withoutTerminal(asInput));
    },
    getNudge: (request, options) => client.getNudge({ sessionId, request }, options),
    cancelNudge: (request, options) => client.cancelNudge({ sessionId, request }, options),
    sendKeys: (request, options) => client.sendKeys({ sessionId, request }, options),
    respond: (request, options) => client.respond({ sessionId, request }, options),
    attach: (inputs, options) =>
      client.attach(attachRequests(sessionId, inputs as AsyncIterable<SidecarAttachInput>), options),
  };
}

/** Answers for a session that the RPC is not meant for. */
function withoutTerminal<T>(answer: () => Promise<T>): (err: unknown) => Promise<T> {
  return (err) => {
    if (err instanceof ConnectError && err.code === Code.Unimplemented) return answer();
    throw err;
  };
}

async function input(
  client: Client<typeof BridgeService>,
  sessionId: string,
  { message, requestId }: { readonly message: string; readonly requestId: string },
  options: CallOptions | undefined,
) {
  const { outcome, accepted, error } = await client.sendInput(
    { sessionId, text: message, idempotencyKey: requestId },
    options,
  );
  return create(SidecarNudgeResponseSchema, { delivered: accepted, outcome, error, requestId });
}

const STATES: Readonly<Partial<Record<SessionStatus, AgentState>>> = {
  [SessionStatus.STARTING]: AgentState.STARTING,
  [SessionStatus.RUNNING]: AgentState.UNCERTAIN,
  [SessionStatus.STOPPING]: AgentState.STOPPING,
  [SessionStatus.STOPPED]: AgentState.DEAD,
  [SessionStatus.FAILED]: AgentState.DEAD,
};

function sessionStatus({ sessionId, projectId, provider, status, agent, epoch, restarts, error }: GetSessionResponse) {
  const alive = status === SessionStatus.RUNNING;
  const value = error === "" ? "the bridge says so; the session has no terminal" : error;
  return create(SidecarStatusResponseSchema, {
    ...{ sessionId, projectId, provider, agent, epoch, restarts },
    sessionAlive: alive,
    state: STATES[status] ?? AgentState.UNCERTAIN,
    evidence: [{ source: "process", value, confidence: EvidenceConfidence.STRONG }],
  });
}

async function* attachRequests(sessionId: string, inputs: AsyncIterable<SidecarAttachInput>) {
  for await (const request of inputs) yield { sessionId, request };
}
