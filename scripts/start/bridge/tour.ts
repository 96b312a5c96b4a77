import { ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../internal/base/clock.ts";
import { DomainError } from "../../../internal/base/errors.ts";
import { printable } from "../../../internal/base/printable-text.ts";
import { plainText } from "../../../internal/base/sanitise.ts";
import type { Output } from "../../../internal/cli/output.ts";
import { EventType, type SessionEvent } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import { AgentState, NudgeOutcome } from "../../../internal/gen/gastown/v1/common_pb.ts";
import { clockTime } from "../receipts.ts";
import { CALLER, type TourFiles } from "./throwaway-trust.ts";
import type { TourClient } from "./tour-client.ts";

/** The id of the tour's session. */
export const TOUR_SESSION = "hello-1";
const MESSAGE = "hello from npm start: what did you read?";
const READY_MS = 30_000;
const ANSWER_MS = 30_000;
const AGAIN_MS = 50;

type Client = TourClient["client"];

export interface BridgeTourDeps {
  readonly clock: Clock;
  readonly out: Output;
  readonly client: Client;
}

/** Waits until the bridge answers. @throws DomainError `deadline` */
export async function untilServing({ clock, client }: BridgeTourDeps, signal: AbortSignal): Promise<void> {
  for (const end = clock.monotonicMs() + READY_MS; ; await clock.sleep(AGAIN_MS, signal)) {
    try {
      if ((await client.health({}, { signal, timeoutMs: 2000 })).status === "serving") return;
    } catch (err) {
      if (clock.monotonicMs() > end) throw new DomainError("deadline", `the bridge does not answer: ${String(err)}`);
    }
  }
}

/**
 * Starts a session, sends it a message and prints the events until it has answered. True if every step had the expected
 * result.
 */
export async function bridgeTour(
  { clock, out, client }: BridgeTourDeps,
  files: TourFiles,
  signal: AbortSignal,
): Promise<boolean> {
  heading(out, `StartSession ${TOUR_SESSION}   provider demo in ${files.repo}`);
  const session = { projectId: CALLER, sessionId: TOUR_SESSION, repoPath: files.repo, provider: "demo" };
  await client.startSession({ ...session, agentOpts: {} }, { signal });
  const done = new AbortController();
  const events = { receipt: false, answer: false };
  const reading = follow({ clock, out, client }, events, AbortSignal.any([signal, done.signal]));
  heading(out, `SendInput "${MESSAGE}"`);
  const sent = await client.sendInput({ sessionId: TOUR_SESSION, text: MESSAGE }, { signal });
  const end = clock.monotonicMs() + ANSWER_MS;
  while (!(events.answer && events.receipt) && clock.monotonicMs() < end) await clock.sleep(AGAIN_MS, signal);
  done.abort();
  await reading;
  heading(out, "the receipt");
  out.line(
    printable`${outcomeName(sent.outcome)}, event ${String(sent.seq)}${sent.error === "" ? "" : `: ${plainText(sent.error)}`}`,
  );
  return sent.accepted && events.answer;
}

async function follow(
  { clock, out, client }: BridgeTourDeps,
  seen: { receipt: boolean; answer: boolean },
  signal: AbortSignal,
): Promise<void> {
  let isBusy = false;
  try {
    for await (const event of client.streamEvents({ sessionId: TOUR_SESSION }, { signal })) {
      out.line(printable`${clockTime(clock.now())}  ${eventText(event)}`);
      seen.receipt ||= event.type === EventType.NUDGE_RECEIPT;
      if (event.state === AgentState.BUSY) isBusy = true;
      seen.answer ||= isBusy && event.state === AgentState.IDLE;
    }
  } catch (err) {
    if (!signal.aborted) throw err instanceof ConnectError ? new DomainError("unavailable", err.message) : err;
  }
}

function eventText({ seq, type, text, error, state, receipt }: SessionEvent): string {
  const name = nameOf(EventType, type);
  const more = [
    plainText(text).trimEnd().replaceAll("\n", " ⏎ "),
    type === EventType.PHASE_CHANGED ? nameOf(AgentState, state).toLowerCase() : "",
    receipt === undefined ? "" : outcomeName(receipt.outcome),
    plainText(error),
  ];
  return [`#${seq}`.padEnd(4), name.padEnd(16), more.filter((part) => part !== "").join(" ")].join(" ");
}

function outcomeName(outcome: NudgeOutcome): string {
  return nameOf(NudgeOutcome, outcome);
}

function nameOf(names: Readonly<Record<string, number>>, value: number): string {
  return Object.entries(names).find(([, number]) => number === value)?.[0] ?? String(value);
}

function heading(out: Output, text: string): void {
  out.line();
  out.line(out.paint("bold", `── ${text}`));
}
