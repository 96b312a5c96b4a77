import { create } from "@bufbuild/protobuf";
import { type CallOptions, type Client, Code, ConnectError } from "@connectrpc/connect";
import { type BridgeService, EventType } from "../gen/bridge/v1/bridge_pb.ts";
import { NudgeOutcome, type NudgeReceipt } from "../gen/gastown/v1/common_pb.ts";
import { type SidecarNudgeResponse, SidecarNudgeResponseSchema } from "../gen/gastown/v1/sidecar_pb.ts";
import { abortOnExit } from "../rpc/client/transport.ts";

/**
 * The outcome of an input to a session without a terminal, from the session's events. Fails with `not_found` also if
 * the events are no longer kept.
 */
export async function stdioReceipt(
  client: Client<typeof BridgeService>,
  sessionId: string,
  requestId: string,
  options: CallOptions = {},
): Promise<SidecarNudgeResponse> {
  const { lastSeq } = await client.getSession({ sessionId }, options);
  const events = (signal: AbortSignal) => client.streamEvents({ sessionId, afterSeq: 0n }, { ...options, signal });
  let answer: SidecarNudgeResponse | undefined;
  if (lastSeq > 0n)
    for await (const event of abortOnExit(events, options.signal)) {
      if (event.requestId === requestId && event.type === EventType.INPUT_RECEIVED) answer ??= queued(requestId);
      if (event.receipt?.requestId === requestId) answer = answerOf(event.receipt);
      if (event.seq >= lastSeq) break;
    }
  if (answer !== undefined) return answer;
  throw new ConnectError(`no message with request id ${JSON.stringify(requestId)}`, Code.NotFound);
}

function queued(requestId: string): SidecarNudgeResponse {
  return create(SidecarNudgeResponseSchema, { requestId, outcome: NudgeOutcome.QUEUED });
}

function answerOf({ requestId, outcome, error, evidence, timings }: NudgeReceipt): SidecarNudgeResponse {
  const delivered = outcome === NudgeOutcome.SUBMITTED;
  return create(SidecarNudgeResponseSchema, { ...{ requestId, outcome, error, evidence, delivered, timings } });
}
