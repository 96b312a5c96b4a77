import { create } from "@bufbuild/protobuf";
import { type ContextKey, createContextKey, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { DomainError } from "../../base/errors.ts";
import {
  type DeliverUpdate,
  DeliverUpdateSchema,
  PublicEvent_Type as EventType,
  type FrontService,
  type PublicEvent,
  PublicEventSchema,
} from "../../gen/desk/v1/desk_pb.ts";
import { NudgeOutcome } from "../../gen/gastown/v1/common_pb.ts";
import { endCallKey } from "../../rpc/server/call-facts.ts";
import { ANSWER_BYTES, cutText } from "../tools/text-bounds.ts";
import type { FrontJournal } from "./front-journal.ts";
import type { BegunTurn, FrontEvent, FrontTurns } from "./front-turns.ts";
import type { Origin } from "./origin.ts";
import { SayBounds, STALL_LIMIT_MS } from "./say-bounds.ts";
import { TurnStream } from "./turn-stream.ts";

/** The origin of a call of `Deliver`, once the gate has verified it. */
export const originKey: ContextKey<Origin | undefined> = createContextKey<Origin | undefined>(undefined, {
  description: "verified origin of a crossing",
});

/** The interval of checks for the end of a repeated crossing's turn. */
const LOOK_EVERY_MS = 50;

/** The two calls. The text of each error is one of a few fixed reasons and quotes nothing of the request. */
export function frontService(
  turns: FrontTurns,
  journal: FrontJournal,
  sleep: (ms: number, signal: AbortSignal) => Promise<void>,
): ServiceImpl<typeof FrontService> {
  const bounds = new SayBounds();
  return {
    async *say({ thread, text }, { signal, values }) {
      using call = stated(() => bounds.enter());
      using turn = stated(() => turns.say(thread, text));
      const stream = new TurnStream<FrontEvent>();
      const push = (event: FrontEvent) => {
        const isHeld = event.type !== "answer" || call.hold(event.text);
        stream.push(isHeld ? event : { type: "failed", reason: "busy" });
      };
      const run = async () => {
        await turn.run(push, signal).finally(() => stream.end());
        await sleep(STALL_LIMIT_MS, signal);
        values.get(endCallKey)?.(new DomainError("exhausted", "interrupted", { fields: { reason: "interrupted" } }));
      };
      run().catch(() => {}); // the caller has left
      for await (const event of stream.read()) yield publicEvent(thread, event);
      yield create(PublicEventSchema, { thread, type: EventType.TURN_END });
    },

    async *deliver({ adminInput }, context) {
      const begun = stated(() => turns.deliver(originIn(context), adminInput));
      // The text has crossed: its turn continues even if the caller leaves.
      const ended = begun && runToEnd(begun);
      yield create(DeliverUpdateSchema, { outcome: NudgeOutcome.SUBMITTED });
      if (ended === undefined) {
        const turn = journal.crossing(originIn(context).id)?.turn ?? "";
        while (journal.endOf(turn) === undefined) await sleep(LOOK_EVERY_MS, context.signal);
        yield create(DeliverUpdateSchema, journal.endOf(turn) ?? {});
        return;
      }
      yield lastUpdate(await ended);
    },
  };
}

/** The last event of a turn. */
async function runToEnd(begun: BegunTurn): Promise<FrontEvent> {
  using turn = begun;
  let last: FrontEvent = { type: "failed", reason: "internal error" };
  await turn.run((event) => {
    last = event;
  }, undefined);
  return last;
}

function originIn({ values }: HandlerContext): Origin {
  const origin = values.get(originKey);
  if (origin === undefined) throw new DomainError("unauthenticated", "refused", { fields: { reason: "refused" } });
  return origin;
}

/** The caller gets only the public reason of an error, never its text. */
function stated<T>(call: () => T): T {
  try {
    return call();
  } catch (err) {
    if (!(err instanceof DomainError)) throw err;
    const reason = typeof err.fields["reason"] === "string" ? err.fields["reason"] : "refused";
    throw new DomainError(err.kind, reason, { fields: { reason }, cause: err });
  }
}

function publicEvent(thread: string, event: FrontEvent): PublicEvent {
  switch (event.type) {
    case "read":
      return create(PublicEventSchema, { thread, type: EventType.READ, path: event.path, reason: event.reason ?? "" });
    case "answer":
      return create(PublicEventSchema, { thread, type: EventType.ANSWER, text: event.text });
    case "failed":
      return create(PublicEventSchema, { thread, type: EventType.FAILED, reason: event.reason });
  }
}

function lastUpdate(event: FrontEvent): DeliverUpdate {
  if (event.type === "answer") return create(DeliverUpdateSchema, { answer: cutText(event.text, ANSWER_BYTES) });
  return create(DeliverUpdateSchema, { reason: event.type === "failed" ? event.reason : "" });
}
