import { Registry } from "prom-client";
import { beforeEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { systemClock } from "../../base/clock.ts";
import { passingTracer, type SpanAttributes, type Tracer, type TraceSpan } from "../../base/tracing.ts";
import { failure, type ResultPart } from "../acp/result-parts.ts";
import { isRefusal, readWork } from "../acp/work-message.ts";
import { natsHeaders } from "../nats/publish.ts";
import { streamNames } from "../nats/stream-specs.ts";
import { AgentLost, NotTaken } from "./agent-lost.ts";
import { HeldLane } from "./held-lane.ts";
import type { Claim } from "./lane-claim.ts";
import type { LaneDeps, LaneOptions } from "./lane-deps.ts";
import { emptyLane } from "./lane-state.ts";
import type { LaneLink, LinkAnswer, Prompt } from "./link.ts";
import { RelayMetrics } from "./relay-metrics.ts";

const lane = { sessionId: "s1", role: "coding" };
const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const WORK = new TextEncoder().encode('{"id":"w1","type":"work.coding","payload":{"task":"the-secret-task"}}');
const NEVER = new AbortController().signal;
const STREAMS = streamNames("RELAY");

type Answer = (prompt: Prompt, signal: AbortSignal) => Promise<LinkAnswer>;
const answers = (...parts: readonly ResultPart[]) => Promise.resolve({ parts, exchange: undefined });
const succeeds: Answer = () => answers({ type: "result.success", payload: { text: "the-secret-answer" } });
const throws =
  (err: Error): Answer =>
  () =>
    Promise.reject(err);

let ended: SpanAttributes[];
beforeEach(() => {
  ended = [];
});

/** Records its spans as they end. The `traceparent` of the n-th is `span-n`. */
function recordingTracer(): Tracer {
  let begun = 0;
  return {
    begin: (name, parent, attributes) => {
      let all: SpanAttributes = { name, parent: parent ?? "none", ...attributes };
      const span: TraceSpan = {
        ...{ traceparent: `span-${++begun}`, isRecording: true, child: () => span },
        set: (more) => {
          all = { ...all, ...more };
        },
        end: (error) => void ended.push({ ...all, ...(error !== undefined && { error }) }),
      };
      return span;
    },
  };
}

interface Given {
  readonly tracer?: Tracer;
  readonly traceparent?: string;
  readonly link?: Partial<LaneLink>;
  /** The attempt that another holder has begun; 0: none. */
  readonly interrupted?: number;
  readonly signal?: AbortSignal;
}

/** Serves one piece of work. Each attempt takes the next of `turns`. */
async function serve(turns: Answer[], { tracer = recordingTracer(), signal = NEVER, ...given }: Given = {}) {
  const { traceparent = PARENT, interrupted = 0 } = given;
  const prompts: (string | undefined)[] = [];
  const results: (string | undefined)[] = [];
  const link = {
    ...{ agentId: "a1", connectionId: "c1", dialect: "seed", kind: "accept", gone: NEVER, lastFrameMs: 0 },
    ...{ established: () => {}, cancel: () => {}, close: () => {} },
    ask: async (prompt: Prompt, stop: AbortSignal) => {
      prompts.push(prompt.traceparent);
      return (turns.shift() ?? succeeds)(prompt, stop);
    },
    ...given.link,
  } as LaneLink;
  const publish = async (_subject: string, _body: string, { headers }: { headers: ReturnType<typeof natsHeaders> }) => {
    results.push(headers.get("traceparent") || undefined);
    return { stream: STREAMS.results, seq: results.length };
  };
  const bus = {
    ...{ streams: STREAMS, maxPayload: 1_048_576, reconnects: 0, isConnected: true, js: { publish } },
    ...{ connected: async () => {}, refuses: () => {} },
  };
  const deps = {
    ...{ clock: systemClock, logger: silentLogger, metrics: new RelayMetrics(new Registry()), tracer, bus },
    ...{ outbox: { hold: () => () => {} }, rings: { prompted: () => {} }, events: { publish: () => {} } },
    ...{ reached: () => {}, signers: undefined },
  } as unknown as LaneDeps;
  const limits = { maxAttempts: 5, backoffMs: [0], workTtlMs: 60_000, resends: () => false, resumes: () => true };
  const times = { ackWaitMs: 60_000, deadlineMs: 60_000, idleMs: 60_000, cancelGraceMs: 0, maxMessageBytes: 4096 };
  const options = { limitsOf: () => limits, ...times } as unknown as LaneOptions;
  const draining = new AbortController();
  const headers = natsHeaders(traceparent === "" ? {} : { traceparent });
  const item = {
    ...{ data: WORK, headers, seq: 1, deliveries: 1, storedAt: systemClock.now() },
    ...{ working: () => {}, nak: () => {}, ack: async () => {} },
  };
  const queue = [item];
  const next = async () => {
    const first = queue.shift();
    if (first === undefined) draining.abort(new Error("all is done"));
    return first;
  };
  const work = readWork(WORK, { ...lane, maxBytes: 4096 });
  if (isRefusal(work)) throw new Error(work.reason);
  const { id, hash } = work;
  const prompted = { t: "prompted", id, hash, work_seq: 1, attempt: interrupted, dialect: "bridge" } as const;
  const claim = {
    ...{ lane, generation: 1, resultsAfter: 0, state: interrupted === 0 ? emptyLane : { ...emptyLane, prompted } },
    log: { append: async () => {}, isFenced: false },
    consumer: { pull: next, forgetLost: async () => {}, passedOver: next, delete: async () => {} },
  } as unknown as Claim;
  await new HeldLane(deps, options, claim, link).run(draining.signal, signal);
  return { prompts, results };
}

const turn = (attempt: number, dialect = "seed") => ({
  ...{ name: "relay.turn", parent: PARENT, "gastown.session": "s1", "gastown.role": "coding" },
  ...{ "gastown.dialect": dialect, "gastown.attempt": attempt },
});

describe("a turn's span", () => {
  it("is a child of the work's, and the parent of what the agent and the readers of results do", async () => {
    expect(await serve([succeeds])).toEqual({ prompts: ["span-1"], results: ["span-1"] });
    expect(ended).toEqual([{ ...turn(1), "gastown.outcome": "result.success" }]);
  });

  it("ends with the code of a failure, never with an agent's text", async () => {
    await serve([() => answers(failure("deadline", "it took too long"))]);
    const payload = { error: "the-secret-error", reason: "the-secret-reason" };
    await serve([() => answers({ type: "result.failure", payload })]);
    await serve([() => answers({ type: "result.failure", payload: { ...payload, code: -32603 } })]);
    const failed = { ...turn(1), "gastown.outcome": "result.failure" };
    expect(ended).toEqual(["deadline", "agent", "-32603"].map((error) => ({ ...failed, error })));
  });

  it("ends before each further attempt, whose span has the same parent", async () => {
    const { prompts, results } = await serve([throws(new NotTaken("a dialog is open")), succeeds]);
    expect([prompts, results]).toEqual([["span-1", "span-2"], ["span-2"]]);
    expect(ended).toEqual([
      { ...turn(1), error: "precondition" },
      { ...turn(2), "gastown.outcome": "result.success" },
    ]);
  });

  it("has the same parent where another relay continues the turn", async () => {
    const link = { dialect: "bridge", kind: "bridge" } as const;
    expect(await serve([succeeds], { link, interrupted: 2 })).toEqual({ prompts: ["span-1"], results: ["span-1"] });
    expect(ended).toEqual([{ ...turn(2, "bridge"), "gastown.outcome": "result.success" }]);
  });

  it("ends as uncertain if the agent is lost, and as cancelled if the relay gives the turn back", async () => {
    await serve([throws(new AgentLost("the connection was cut"))]);
    const stopping = new AbortController();
    const givesBack: Answer = async () => {
      stopping.abort(new Error("the relay has drained"));
      return new Promise(() => {});
    };
    expect((await serve([givesBack], { signal: stopping.signal })).results).toEqual([]);
    expect(ended).toEqual([
      { ...turn(1), "gastown.outcome": "result.failure", error: "uncertain" },
      { ...turn(1), error: "cancelled" },
    ]);
  });
});

it.each([PARENT, "not a traceparent", undefined])("without tracing, %s is passed on unchanged", async (given) => {
  const passed = await serve([succeeds], { tracer: passingTracer, traceparent: given ?? "" });
  expect(passed).toEqual({ prompts: [given], results: [given] });
});
