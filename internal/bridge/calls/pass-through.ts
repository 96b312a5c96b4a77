import type { DescMessage, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { withTimeout } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type {
  AttachRequest,
  CancelNudgeRequest,
  GetNudgeRequest,
  NudgeRequest,
  PeekRequest,
  RespondRequest,
  SendKeysRequest,
  StatusRequest,
  WatchOutputRequest,
} from "../../gen/bridge/v1/bridge_pb.ts";
import {
  type SidecarAttachInput,
  SidecarPeekRequestSchema,
  SidecarService,
  SidecarStatusRequestSchema,
  SidecarWatchRequestSchema,
} from "../../gen/gastown/v1/sidecar_pb.ts";
import { nudgeReceipt } from "../../wire/nudge.ts";
import type { ReceiptSpans } from "../receipt-spans.ts";
import type { SessionBackend, SessionKey } from "../session-backend.ts";
import { pipeMessages, SharedFrames, unreadStream } from "../unread-stream.ts";
import { claimsOf } from "./bridge-gate.ts";
import type { CallAccess } from "./call-access.ts";
import { checkText } from "./requests.ts";

export interface PassThroughDeps {
  readonly clock: Clock;
  readonly backend: Pick<SessionBackend, "terminal">;
  readonly access: CallAccess;
  /** Counts an input to a session. @throws DomainError `exhausted` */
  readonly countInput: (context: HandlerContext, key: SessionKey) => void;
  readonly maxInputBytes: number;
  readonly receipts: ReceiptSpans;
}

/** A call about a session, wrapping the sidecar's own request. */
interface Around<M extends DescMessage> {
  readonly sessionId: string;
  readonly request?: MessageShape<M> | undefined;
}

const { peek, status, nudge, getNudge, cancelNudge, sendKeys, respond, watchOutput } = SidecarService.method;
/** The first message of an attachment must arrive within this time. */
const HELLO_MS = 5000;

/** The RPCs that the session's sidecar answers; the bridge calls it on behalf of the caller. */
export function passThrough(deps: PassThroughDeps) {
  const { clock, backend, access, countInput, maxInputBytes, receipts } = deps;
  const frames = new SharedFrames(watchOutput.output);
  async function ask<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    { sessionId, request }: Around<I>,
    context: HandlerContext,
    fallback?: () => MessageShape<I>,
  ): Promise<MessageShape<O>> {
    const terminal = backend.terminal(await access.session(context, sessionId));
    return terminal.unary(method, needed(request ?? fallback?.()), access.caller(context), context.signal);
  }
  async function type<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    { sessionId, request }: Around<I>,
    context: HandlerContext,
    check: (request: MessageShape<I>) => void = () => {},
  ): Promise<MessageShape<O>> {
    const key = await access.session(context, sessionId, (found) => {
      check(needed(request));
      countInput(context, found);
    });
    return backend.terminal(key).unary(method, needed(request), access.caller(context), context.signal);
  }
  return {
    peek: (request: PeekRequest, context: HandlerContext) =>
      ask(peek, request, context, () => create(SidecarPeekRequestSchema)),
    status: (request: StatusRequest, context: HandlerContext) =>
      ask(status, request, context, () => create(SidecarStatusRequestSchema)),
    getNudge: (request: GetNudgeRequest, context: HandlerContext) => ask(getNudge, request, context),
    cancelNudge: (request: CancelNudgeRequest, context: HandlerContext) => ask(cancelNudge, request, context),
    nudge(request: NudgeRequest, context: HandlerContext) {
      const { trace, identity } = access.caller(context);
      const { project } = claimsOf(context);
      const send = () => type(nudge, request, context, ({ message }) => checkText(message, maxInputBytes));
      return receipts.around(trace, { project, id: request.sessionId }, send, (answer) =>
        nudgeReceipt(answer, identity),
      );
    },
    sendKeys: (request: SendKeysRequest, context: HandlerContext) =>
      type(sendKeys, request, context, ({ text }) => text !== "" && checkText(text, maxInputBytes)),
    respond: (request: RespondRequest, context: HandlerContext) =>
      type(respond, request, context, ({ text }) => text !== "" && checkText(text, maxInputBytes)),
    async *watchOutput({ sessionId, request }: WatchOutputRequest, context: HandlerContext) {
      const key = await access.session(context, sessionId);
      const given = request ?? create(SidecarWatchRequestSchema);
      const messages = backend.terminal(key).stream(watchOutput, given, access.caller(context), context.signal);
      yield* unreadStream(context, (target, signal) => pipeMessages(messages, frames, target, signal));
    },
    async *attach(requests: AsyncIterable<AttachRequest>, context: HandlerContext) {
      const inputs = requests[Symbol.asyncIterator]();
      const { sessionId, hello } = await helloOf(inputs, clock);
      const key = await access.session(context, sessionId);
      access.attach(context, key, hello.input.case === "hello" && hello.input.value.readOnly);
      const sidecar = backend.terminal(key);
      yield* sidecar.attach(inputsOf(hello, inputs), access.caller(context), context.signal);
    },
  };
}

/** @throws DomainError `invalid` */
function needed<T>(request: T | undefined): T {
  if (request === undefined) throw new DomainError("invalid", "the field request is required");
  return request;
}

async function helloOf(inputs: AsyncIterator<AttachRequest>, clock: Clock) {
  const first = await withTimeout(clock, HELLO_MS, "hello", inputs.next()).catch((err: unknown) => {
    if (err instanceof DomainError && err.kind === "deadline") throw noHello(err);
    throw err;
  });
  if (first.done === true) throw noHello();
  const { sessionId, request } = first.value;
  if (request?.input.case !== "hello") throw noHello();
  return { sessionId, hello: request };
}

function noHello(cause?: unknown): DomainError {
  const message = `the first message of an attachment must name the session and be hello, within ${HELLO_MS} ms`;
  return new DomainError("invalid", message, { cause });
}

async function* inputsOf(
  hello: SidecarAttachInput,
  inputs: AsyncIterator<AttachRequest>,
): AsyncGenerator<SidecarAttachInput, void, undefined> {
  yield hello;
  for (;;) {
    const { done, value } = await inputs.next();
    if (done === true) return;
    if (value.request !== undefined) yield value.request;
  }
}
