import { randomUUID } from "node:crypto";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import type { RateLimiter } from "../../auth/rate-limiter.ts";
import { DomainError } from "../../base/errors.ts";
import type {
  AckEventsRequest,
  GetSessionRequest,
  ListSessionsRequest,
  SendInputRequest,
  StartSessionRequest,
  StopSessionRequest,
  StreamEventsRequest,
} from "../../gen/bridge/v1/bridge_pb.ts";
import { OUTCOMES } from "../../wire/nudge.ts";
import { sessionPage } from "../list-page.ts";
import type { ReceiptSpans } from "../receipt-spans.ts";
import type { InputResult, SessionBackend, SessionKey } from "../session-backend.ts";
import { unreadStream } from "../unread-stream.ts";
import type { CallAccess } from "./call-access.ts";
import { inputRequestOf, startRequestOf, statusesOf } from "./requests.ts";
import { STATUSES, sessionMessage } from "./session-message.ts";

export interface SessionCallsDeps {
  readonly backend: SessionBackend;
  readonly access: CallAccess;
  readonly isServing: () => boolean;
  /** Limits starts by project and issuer. */
  readonly starts: RateLimiter;
  /** Counts an input to a session. @throws DomainError `exhausted` */
  readonly countInput: (context: HandlerContext, key: SessionKey) => void;
  readonly maxInputBytes: number;
  readonly receipts: ReceiptSpans;
}

/** The RPCs about sessions, their inputs and events, and about providers. */
export function sessionCalls(deps: SessionCallsDeps) {
  const { backend, access, isServing, starts, countInput, maxInputBytes, receipts } = deps;
  return {
    async startSession(request: StartSessionRequest, context: HandlerContext) {
      const wanted = startRequestOf(request);
      const start = () => {
        starts.take(wanted.project, access.issuer(context));
        return backend.start(wanted, access.caller(context), context.signal);
      };
      const { id, status, createdAt } = await access.deciding(context, wanted.project, wanted.id, async () => start());
      return { sessionId: id, status: STATUSES[status], createdAt: timestampFromMs(createdAt) };
    },
    async stopSession({ sessionId, force }: StopSessionRequest, context: HandlerContext) {
      const key = await access.session(context, sessionId);
      const { status } = await backend.stop(key, { force }, access.caller(context), context.signal);
      return { status: STATUSES[status] };
    },
    async getSession({ sessionId }: GetSessionRequest, context: HandlerContext) {
      const key = await access.session(context, sessionId);
      const session = backend.describe === undefined ? backend.get(key) : await backend.describe(key, context.signal);
      if (session === undefined) throw new DomainError("not-found", `no session ${JSON.stringify(sessionId)}`);
      return sessionMessage(session);
    },
    listSessions(
      { projectId, pageSize: size, pageToken: token, status }: ListSessionsRequest,
      context: HandlerContext,
    ) {
      const project = access.project(context, projectId);
      const request = { project, size, token, statuses: statusesOf(status) };
      const { sessions, nextToken } = sessionPage(backend.list(project), request);
      const incomplete = backend.listFault?.(project) ?? "";
      return { sessions: sessions.map(sessionMessage), nextPageToken: nextToken, incomplete };
    },
    async sendInput(request: SendInputRequest, context: HandlerContext) {
      const given = () => inputRequestOf(request, maxInputBytes);
      const key = await access.session(context, request.sessionId, (found) => {
        given();
        countInput(context, found);
      });
      const caller = access.caller(context);
      const input = { ...given(), idempotencyKey: request.idempotencyKey || randomUUID() };
      const send = () => backend.sendInput(key, input, caller, context.signal);
      const answerOf = ({ outcome }: InputResult) => ({ requestId: input.idempotencyKey, outcome });
      const { outcome, seq, error } = await receipts.around(caller.trace, key, send, answerOf);
      return {
        accepted: outcome === "submitted" || outcome === "queued",
        seq,
        outcome: OUTCOMES.values[outcome],
        error,
      };
    },
    async *streamEvents(request: StreamEventsRequest, context: HandlerContext) {
      const { sessionId, afterSeq: after, subscriberId: subscriber, epoch } = request;
      const key = await access.session(context, sessionId);
      const from = { subscriber, epoch, after };
      const feed = await backend.events(key, from, access.caller(context), context.signal);
      yield* unreadStream(context, (target, signal) => feed.pipe(target, signal));
    },
    async ackEvents(request: AckEventsRequest, context: HandlerContext) {
      const { sessionId, subscriberId: subscriber, ackSeq: seq, epoch } = request;
      const key = await access.session(context, sessionId);
      await backend.ack(key, { subscriber, seq, epoch }, access.caller(context), context.signal);
      return {};
    },
    async health(_: object, context: HandlerContext) {
      const providers = await backend.providers(access.project(context, ""), context.signal);
      return {
        status: isServing() ? "serving" : "not_serving",
        providers: providers.map(({ provider, available, error }) => ({ provider, available, error })),
      };
    },
    async listProviders(_: object, context: HandlerContext) {
      const providers = await backend.providers(access.project(context, ""), context.signal);
      return { providers: providers.map((one) => ({ ...one, capabilities: [...one.capabilities] })) };
    },
  };
}
