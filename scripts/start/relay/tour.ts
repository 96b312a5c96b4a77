import type { Authenticator } from "@nats-io/transport-node";
import { raceSignal, withTimeout } from "../../../internal/base/abort.ts";
import type { Clock } from "../../../internal/base/clock.ts";
import { printable } from "../../../internal/base/printable-text.ts";
import type { Output } from "../../../internal/cli/output.ts";
import { Bus } from "../../../internal/relay/nats/bus.ts";
import { followStream } from "../../../internal/relay/nats/follow-stream.ts";
import { publishOnce } from "../../../internal/relay/nats/publish.ts";
import { messageId, subjects } from "../../../internal/relay/nats/subjects.ts";

/** The tour's lane. */
export const TOUR_LANE_SESSION = "sess_123";
export const TOUR_LANE_ROLE = "coding";

const LANE = { sessionId: TOUR_LANE_SESSION, role: TOUR_LANE_ROLE };
const READY_MS = 60_000;
const AGAIN_MS = 100;

export interface RelayTourDeps {
  readonly clock: Clock;
  readonly out: Output;
  readonly natsUrl: string;
  readonly authenticator: Authenticator;
}

/**
 * Sends one coding task through the relay, with a tool use and its result, and prints each step. True if every step had
 * the expected result.
 */
export async function relayTour(
  { clock, out, natsUrl, authenticator }: RelayTourDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const options = {
    url: natsUrl,
    name: "npm-start",
    streamPrefix: "RELAY",
    firstMs: READY_MS,
    auth: { authenticator },
  };
  const bus = await Bus.open(clock, options, signal);
  try {
    await untilStreams(bus, clock, signal);
    const task = { id: "msg_123", type: "work.coding", payload: { task: "Implement authentication" } };
    const use = await sent(bus, out, task, signal);
    if (use.type !== "tool_use" || use.payload.tool_id === undefined) return false;
    const result = { tool_id: use.payload.tool_id, content: "Switched to a new branch 'auth-feature'" };
    const end = await sent(bus, out, { id: "msg_124", type: "tool_result", payload: result }, signal);
    return end.type === "result.success";
  } finally {
    await bus.nc.close();
  }

  async function sent(to: Bus, print: Output, work: Work, stop: AbortSignal): Promise<Result> {
    print.line();
    print.line(print.paint("bold", `── ${subjects.work(LANE)}`));
    print.line(printable`${JSON.stringify(work)}`);
    const msgId = messageId(LANE, work.id);
    await publishOnce(to, { subject: subjects.work(LANE), body: JSON.stringify(work), msgId });
    const found = await withTimeout(clock, READY_MS, "the result", raceSignal(resultOf(to, work.id, stop), stop));
    print.line(print.paint("bold", `── ${subjects.results(LANE)}`));
    print.line(printable`${found.text}`);
    return found;
  }
}

interface Work {
  readonly id: string;
  readonly type: string;
  readonly payload: object;
}

interface Result {
  readonly type: string;
  readonly payload: { readonly tool_id?: string };
  readonly text: string;
}

/** The relay creates the streams when it starts. */
async function untilStreams(bus: Bus, clock: Clock, signal: AbortSignal): Promise<void> {
  for (const end = clock.monotonicMs() + READY_MS; ; await clock.sleep(AGAIN_MS, signal)) {
    try {
      await bus.jsm.streams.info(bus.streams.lanes);
      return;
    } catch (err) {
      if (clock.monotonicMs() > end) throw err;
    }
  }
}

async function resultOf(bus: Bus, id: string, signal: AbortSignal): Promise<Result> {
  const place = { stream: bus.streams.results, subject: subjects.results(LANE), from: 1 };
  for await (const { data } of followStream(bus, place, signal)) {
    const text = new TextDecoder().decode(data);
    const body = JSON.parse(text) as { readonly id: string } & Omit<Result, "text">;
    if (body.id === id) return { type: body.type, payload: body.payload, text };
  }
  throw signal.reason;
}
