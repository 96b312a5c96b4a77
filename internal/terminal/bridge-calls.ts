import { create } from "@bufbuild/protobuf";
import { type CallOptions, type Client, Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../base/clock.ts";
import type { BridgeService } from "../gen/bridge/v1/bridge_pb.ts";
import { NudgeOutcome } from "../gen/gastown/v1/common_pb.ts";
import {
  type SidecarAttachInput,
  SidecarNudgeRequestSchema,
  SidecarNudgeResponseSchema,
  SidecarPeekRequestSchema,
  SidecarWatchRequestSchema,
} from "../gen/gastown/v1/sidecar_pb.ts";
import type { SidecarCalls } from "./grpc-sidecar.ts";
import { stdioCalls } from "./stdio-calls.ts";
import { stdioReceipt } from "./stdio-receipt.ts";

/**
 * Calls one session of a bridge as if it were a sidecar. A session without a terminal takes nudges as input; its
 * screen, status and receipts are derived from its events. Its other calls are `unimplemented`.
 */
export function bridgeCalls(
  client: Client<typeof BridgeService>,
  sessionId: string,
  clock: Clock,
): Omit<SidecarCalls, "stopAgent"> {
  const stdio = stdioCalls({ client, sessionId, clock });
  return {
    peek: (request, options) => {
      const peek = create(SidecarPeekRequestSchema, request);
      return client.peek({ sessionId, request: peek }, options).catch(withoutTerminal(() => stdio.peek(peek, options)));
    },
    status: (request, options) =>
      client.status({ sessionId, request }, options).catch(withoutTerminal(() => stdio.status(options))),
    async *watchOutput(request, options) {
      const watch = create(SidecarWatchRequestSchema, request);
      try {
        yield* client.watchOutput({ sessionId, request: watch }, options);
      } catch (err) {
        if (!lacksTerminal(err)) throw err;
        yield* stdio.watchOutput(watch, options);
      }
    },
    nudge: (request, options) => {
      const nudge = create(SidecarNudgeRequestSchema, request);
      const asInput = () => input(client, sessionId, nudge, options);
      return client.nudge({ sessionId, request: nudge }, options).catch(withoutTerminal(asInput));
    },
    getNudge: (request, options) => {
      const { requestId = "" } = request;
      const asTold = () => stdioReceipt(client, sessionId, requestId, options);
      return client.getNudge({ sessionId, request }, options).catch(withoutTerminal(asTold));
    },
    cancelNudge: (request, options) => client.cancelNudge({ sessionId, request }, options),
    sendKeys: (request, options) => client.sendKeys({ sessionId, request }, options),
    respond: (request, options) => client.respond({ sessionId, request }, options),
    attach: (inputs, options) =>
      client.attach(attachRequests(sessionId, inputs as AsyncIterable<SidecarAttachInput>), options),
  };
}

/** Replaces the error of a call that needs a terminal, if the session has none, by `answer`. */
function withoutTerminal<T>(answer: () => Promise<T>): (err: unknown) => Promise<T> {
  return (err) => {
    if (lacksTerminal(err)) return answer();
    throw err;
  };
}

function lacksTerminal(err: unknown): boolean {
  return err instanceof ConnectError && err.code === Code.Unimplemented;
}

async function input(
  client: Client<typeof BridgeService>,
  sessionId: string,
  { message, requestId }: { readonly message: string; readonly requestId: string },
  options: CallOptions | undefined,
) {
  const { outcome, error } = await client.sendInput({ sessionId, text: message, idempotencyKey: requestId }, options);
  return create(SidecarNudgeResponseSchema, {
    delivered: outcome === NudgeOutcome.SUBMITTED,
    outcome,
    error,
    requestId,
  });
}

async function* attachRequests(sessionId: string, inputs: AsyncIterable<SidecarAttachInput>) {
  for await (const request of inputs) yield { sessionId, request };
}
