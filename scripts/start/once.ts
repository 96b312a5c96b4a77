import type { Clock } from "../../internal/base/clock.ts";
import { printable } from "../../internal/base/printable-text.ts";
import { plainText } from "../../internal/base/sanitise.ts";
import type { Output } from "../../internal/cli/output.ts";
import { durationText } from "../../internal/cli/wording.ts";
import type { PeekResult } from "../../internal/session/types.ts";
import type { RunningAgent } from "./agent-session.ts";
import { receiptLine } from "./receipts.ts";

const MESSAGE = "hello from npm start: what did you read?";
const PEEK = { lines: 20, all: false, ansi: false, joinWrapped: false } as const;
const ANSWER_MS = 20_000;
const LOOK_AGAIN_MS = 100;

/**
 * Runs one peek, nudge, peek and status; returns 0 if each had the expected result, else prints the differences and
 * returns 1.
 */
export async function runOnce(clock: Clock, out: Output, agent: RunningAgent, signal: AbortSignal): Promise<number> {
  const { backend, address, listen, startMs } = agent;
  const wrong: string[] = [];
  const check = (ok: boolean, what: string) => {
    if (!ok) wrong.push(what);
  };
  out.line(printable`ready: ${address} at ${listen} (${(startMs / 1000).toFixed(1)} s)`);

  const before = await backend.peek(PEEK, signal);
  printPeek(out, `peek ${address}`, before);
  check(before.alive, "the agent was not alive at the first peek");

  const request = { mode: "wait-idle", timeoutMs: 30_000, priority: "normal", ttlMs: 60_000 } as const;
  const receipt = await backend.nudge({ ...request, message: MESSAGE, requestId: "", sender: "npm start" }, signal);
  heading(out, `nudge ${address} "${MESSAGE}"`);
  out.line(printable`${receiptLine(receipt, clock.now())}`);
  check(receipt.outcome === "submitted", `the receipt says ${receipt.outcome}`);

  const after = await peekAnswer(clock, agent, signal);
  printPeek(out, `peek ${address}`, after);
  check(after.output.includes(MESSAGE), "the second peek does not show the message");

  const status = await backend.status(signal);
  heading(out, `status ${address}`);
  out.line(
    printable`${status.state}, up ${durationText(status.uptimeSeconds * 1000)}, pid ${status.agentPid}, queue ${status.queueDepth}`,
  );
  for (const one of status.evidence) out.line(printable`  ${one.source}: ${plainText(one.value)} (${one.confidence})`);
  check(status.alive, "the agent is not alive at the end");

  out.line();
  for (const what of wrong) out.line(out.paint("red", `not as expected: ${what}`));
  if (wrong.length === 0) out.line(out.paint("green", "all as expected"));
  return wrong.length === 0 ? 0 : 1;
}

/** The screen once the agent has answered, or after 20 s. */
async function peekAnswer(clock: Clock, { backend }: RunningAgent, signal: AbortSignal): Promise<PeekResult> {
  const deadline = clock.monotonicMs() + ANSWER_MS;
  while (clock.monotonicMs() < deadline && (await backend.status(signal)).state !== "idle") {
    await clock.sleep(LOOK_AGAIN_MS, signal);
  }
  return backend.peek(PEEK, signal);
}

function printPeek(out: Output, title: string, { output, cols, rows }: PeekResult): void {
  heading(out, `${title}   (${cols}×${rows})`);
  for (const row of output.replace(/\n$/, "").split("\n")) out.line(printable`│ ${plainText(row)}`);
}

function heading(out: Output, text: string): void {
  out.line();
  out.line(out.paint("bold", `── ${text}`));
}
