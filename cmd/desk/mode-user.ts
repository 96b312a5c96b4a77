import { randomUUID } from "node:crypto";
import { createClient, type Transport } from "@connectrpc/connect";
import { z } from "zod";
import { DomainError } from "../../internal/base/errors.ts";
import { PrintableText, printable } from "../../internal/base/printable-text.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import type { Output } from "../../internal/cli/output.ts";
import { checkDeskText } from "../../internal/desk/tools/text-bounds.ts";
import { PublicEvent_Type as EventType, FrontService, type PublicEvent } from "../../internal/gen/desk/v1/desk_pb.ts";
import { abortOnExit, sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import type { ModeOptions } from "./config.ts";
import { openDesk } from "./open-desk.ts";
import { tryBounds } from "./try-bounds.ts";
import { type Outcome, runLoop, type Side } from "./turn-loop.ts";

/** A step of a turn, as a user sees it. */
export type UserEvent =
  | { readonly type: "read"; readonly path: string; readonly ok: boolean; readonly reason?: string | undefined }
  | { readonly type: "answer"; readonly from: "customer"; readonly text: string }
  | { readonly type: "error"; readonly reason: string }
  | { readonly type: "turn_end"; readonly turn: string; readonly outcome: Outcome };

type Emit = (event: UserEvent) => void;

/** `desk --mode user`: a client of the customer's half, which it starts if it is not running. */
export async function runUser(options: ModeOptions, context: CommandContext): Promise<number> {
  const { signal, stdout, out } = context;
  using stack = new DisposableStack();
  const { front, configuration, atTurn } = await openDesk(options, context);
  await tryBounds(front, context);
  stack.use(front.launcher);
  await front.launcher.ensure(signal);
  const connection = stack.use(sidecarTransport({ baseUrl: "http://localhost", socketPath: front.place.socket }));
  const emit: Emit = options.json ? (event) => void stdout.write(`${PrintableText.json(event)}\n`) : printer(out);
  const side: Side = {
    prompt: "you> ",
    inputBytes: configuration.current.limits.input_bytes,
    fields: z.strictObject({ text: z.string(), thread: z.string().optional() }),
    async turn(text, given, turnSignal) {
      const maxBytes = atTurn().limits.input_bytes;
      await front.launcher.ensure(turnSignal);
      const input = { thread: given.thread ?? options.thread, text, maxBytes };
      return await say(connection.transport, input, emit, turnSignal);
    },
    refuse(reason) {
      context.note(reason);
      emit({ type: "error", reason: "refused" });
      emit({ type: "turn_end", turn: randomUUID(), outcome: "refused" });
    },
    faulty: (reason) => emit({ type: "error", reason }),
  };
  return await runLoop(side, options.input, context);
}

async function say(
  transport: Transport,
  { thread, text, maxBytes }: { readonly thread: string; readonly text: string; readonly maxBytes: number },
  emit: Emit,
  signal: AbortSignal,
): Promise<Outcome> {
  const turn = randomUUID();
  let outcome: Outcome = "failed";
  try {
    checkDeskText(text, maxBytes); // an ill-formed text would be changed in transit
    const client = createClient(FrontService, transport);
    for await (const event of abortOnExit((left) => client.say({ thread, text }, { signal: left }), signal)) {
      if (event.type === EventType.ANSWER) outcome = "done";
      const shown = userEvent(event);
      if (shown !== undefined) emit(shown);
    }
  } catch (err) {
    const refusal = refusalOf(err, signal);
    emit({ type: "error", reason: refusal.reason });
    outcome = refusal.outcome;
  }
  emit({ type: "turn_end", turn, outcome });
  return outcome;
}

function userEvent({ type, path, reason, text }: PublicEvent): UserEvent | undefined {
  switch (type) {
    case EventType.READ:
      return { type: "read", path, ok: reason === "", reason: reason || undefined };
    case EventType.ANSWER:
      return { type: "answer", from: "customer", text };
    case EventType.FAILED:
      return { type: "error", reason };
    default:
      return undefined;
  }
}

/** @throws an error that is a bug, of either side */
function refusalOf(err: unknown, signal: AbortSignal): { readonly reason: string; readonly outcome: Outcome } {
  if (signal.aborted) return { reason: "interrupted", outcome: "failed" };
  const known = domainErrorOf(err);
  if (!(known instanceof DomainError)) throw err;
  const reason = known.fields["reason"];
  if (typeof reason !== "string") {
    // `exhausted`: the front's server refused a message over its size limit. Otherwise, the front ended in the middle
    // of the turn.
    return known.kind === "exhausted"
      ? { reason: "too large", outcome: "refused" }
      : { reason: "interrupted", outcome: "failed" };
  }
  return { reason, outcome: reason === "internal error" ? "failed" : "refused" };
}

function printer(out: Output): Emit {
  return (event) => {
    if (event.type === "answer") out.line(PrintableText.plain(event.text));
    if (event.type === "error") out.line(printable`failed: ${event.reason}`);
  };
}
