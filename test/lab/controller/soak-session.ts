import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  EventType,
  type SessionEvent,
  SessionStatus,
  SessionStatusSchema,
} from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import { NudgeOutcome, NudgeOutcomeSchema } from "../../../internal/gen/gastown/v1/common_pb.ts";
import { LIVE_POD_PROVIDER, takenIn } from "../../support/cluster/live-pod.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import { CALL_MS, passes, type SoakTown } from "./soak-town.ts";

const AGAIN_MS = 250;
const ENDED: ReadonlySet<SessionStatus> = new Set([SessionStatus.STOPPED, SessionStatus.FAILED]);
/** The mean time between two messages. */
const MESSAGE_MS = 1_000;

/** The totals of all sessions. */
export class SoakCounts {
  sessions = 0;
  messages = 0;
  peeks = 0;
  events = 0;
  gaps = 0;
  returns = 0;
  readonly outcomes = new Map<string, number>();
}

/**
 * One session, with a person who writes to it and a reader of its events. Each answer is compared with the messages
 * that its agent took and with its events.
 */
export class SoakSession {
  readonly id: string;
  readonly #town: SoakTown;
  readonly #counts: SoakCounts;
  readonly #fault: (text: string) => void;
  readonly #reading = new AbortController();
  readonly #submitted = new Set<string>();
  /** The messages with an answer, whatever the outcome. */
  readonly #answered = new Set<string>();
  readonly #receipts = new Set<string>();
  #position: { readonly afterSeq?: bigint; readonly epoch: string } = { epoch: "" };
  #next: bigint | undefined;
  #hasGap = false;
  /** Its pod was deleted by hand: its agent's log can no longer be read. */
  isDeleted = false;
  isRunning = false;

  constructor(id: string, town: SoakTown, counts: SoakCounts, fault: (text: string) => void) {
    this.id = id;
    this.#town = town;
    this.#counts = counts;
    this.#fault = (text) => fault(`${id}: ${text}`);
  }

  /** Lives from its start to its end, which comes after `ms` or when its pod is deleted. */
  async live(ms: number, signal: AbortSignal): Promise<void> {
    let reading: Promise<void> | undefined;
    try {
      await this.#begin();
      reading = this.#read().catch((err: unknown) => this.#fault(`its reader: ${err}`));
      await this.#reaches(SessionStatus.RUNNING);
      this.#counts.sessions++;
      this.isRunning = true;
      await this.#write(performance.now() + ms, signal);
      this.isRunning = false;
      if (this.isDeleted) return await this.#ends();
      await this.#compare();
      await this.#stop();
      await this.#reaches(SessionStatus.STOPPED);
    } catch (err) {
      if (this.isDeleted) return await this.#ends();
      this.#fault(String(err));
      await this.#stop().catch(() => {});
    } finally {
      this.isRunning = false;
      this.#reading.abort();
      await reading;
    }
  }

  #stop(): Promise<unknown> {
    return this.#town.call((client, options) => client.stopSession({ sessionId: this.id }, options));
  }

  async #begin(): Promise<void> {
    const request = { projectId: "shop", sessionId: this.id, provider: LIVE_POD_PROVIDER, repoPath: "/workspace" };
    await this.#town.call((client, options) => client.startSession(request, options));
  }

  async #write(end: number, signal: AbortSignal): Promise<void> {
    for (let i = 0; performance.now() < end && !signal.aborted && !this.isDeleted; i++) {
      await this.#nudge(`${this.id}-m${i}`);
      await this.#peek();
      await sleep(MESSAGE_MS * 2 * this.#town.random());
    }
  }

  async #nudge(requestId: string): Promise<void> {
    const message = textOf(requestId);
    const request = { message, requestId };
    const { outcome } = await this.#town.call((client, options) =>
      client.nudge({ sessionId: this.id, request }, options),
    );
    this.#counts.messages++;
    this.#answered.add(requestId);
    if (outcome === NudgeOutcome.SUBMITTED) this.#submitted.add(message);
    const name = NudgeOutcomeSchema.value[outcome]?.localName ?? String(outcome);
    this.#counts.outcomes.set(name, (this.#counts.outcomes.get(name) ?? 0) + 1);
  }

  async #peek(): Promise<void> {
    const peek = { sessionId: this.id, request: { lines: 50 } };
    const { output } = await this.#town.call((client, options) => client.peek(peek, options));
    this.#counts.peeks++;
    const other = [...output.matchAll(/for (soak-\d+-\d+)-m\d+\./g)].find(([, of]) => of !== this.id);
    if (other !== undefined) this.#fault(`its screen has text of ${other[1]}`);
  }

  /** A text answered as submitted was taken once; none was taken twice; every answer came as an event. */
  async #compare(): Promise<void> {
    const taken = await until(
      "what its agent took",
      CALL_MS,
      () => takenIn(this.#town.town, this.id).catch(() => undefined), // a cluster with a fault may refuse this
    );
    for (const text of this.#submitted)
      if (!taken.some((each) => each.includes(text))) this.#fault(`"${text}" was submitted and did not arrive`);
    for (const text of new Set(taken))
      if (taken.filter((each) => each === text).length > 1) this.#fault(`"${text}" arrived twice`);
    const untold = () => [...this.#answered].filter((id) => !this.#receipts.has(id));
    const end = performance.now() + CALL_MS / 2;
    while (!this.#hasGap && untold().length > 0 && performance.now() < end) await sleep(AGAIN_MS);
    if (!this.#hasGap && untold().length > 0) this.#fault(`no event reported the receipts of ${untold()}`);
  }

  async #reaches(wanted: SessionStatus): Promise<void> {
    const end = performance.now() + CALL_MS;
    for (;;) {
      const { status, error } = await this.#town.call((client, options) =>
        client.getSession({ sessionId: this.id }, options),
      );
      if (status === wanted) return;
      if (performance.now() > end)
        throw new Error(`its status is ${SessionStatusSchema.value[status]?.localName}: ${error}`);
      await sleep(AGAIN_MS);
    }
  }

  /** A session whose pod was deleted must report its end, or be unknown. */
  async #ends(): Promise<void> {
    const end = performance.now() + CALL_MS;
    for (;;) {
      const found = await this.#town
        .call((client, options) => client.getSession({ sessionId: this.id }, options))
        .catch((err: unknown) => {
          if (ConnectError.from(err).code !== Code.NotFound) throw err;
        });
      if (found === undefined || ENDED.has(found.status)) return;
      if (performance.now() > end) return this.#fault(`its pod is gone, and it has status ${found.status}`);
      await sleep(AGAIN_MS);
    }
  }

  /** Reads at one replica after the other, each time from the last event on. */
  async #read(): Promise<void> {
    const { signal } = this.#reading;
    while (!signal.aborted) {
      try {
        const request = { sessionId: this.id, ...this.#position };
        for await (const event of this.#town.any().client.streamEvents(request, { signal })) this.#take(event);
      } catch (err) {
        if (signal.aborted || ConnectError.from(err).code === Code.NotFound) return;
        // A stream ends when the token with which it was opened expires.
        if (!passes(err) && ConnectError.from(err).code !== Code.Unauthenticated) throw err;
      }
      this.#counts.returns++;
      await sleep(AGAIN_MS);
    }
  }

  #take({ seq, epoch, gap, type, requestId }: SessionEvent): void {
    this.#counts.events++;
    if (gap !== undefined) {
      this.#counts.gaps++;
      this.#hasGap = true;
    }
    const first = gap?.first ?? seq;
    if (this.#next !== undefined && first !== this.#next) this.#fault(`event ${first} came in place of ${this.#next}`);
    this.#next = seq + 1n;
    this.#position = { afterSeq: seq, epoch };
    if (type === EventType.NUDGE_RECEIPT) this.#receipts.add(requestId);
  }
}

function textOf(requestId: string): string {
  return `for ${requestId}.`;
}
