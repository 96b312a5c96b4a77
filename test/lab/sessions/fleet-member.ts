import type { BridgeClient, SessionEvent } from "../../../pkg/bridgeclient/index.ts";
import { EventType, type Session, SessionStatus } from "../../../pkg/bridgeclient/index.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import type { TakeFault } from "./fault.ts";

export interface MemberPlan {
  readonly id: string;
  readonly project: string;
  readonly kind: "demo" | "claude" | "codex" | "opencode";
  readonly mode: "stdio" | "terminal";
  readonly repoPath: string;
}

/** On a busy machine an input to a real agent may wait for a minute. */
const INPUT_MS = 120_000;

/** One session with a reader of its events, which leaves and returns. Counts events, gaps and outcomes. */
export class FleetMember {
  readonly plan: MemberPlan;
  readonly #client: BridgeClient;
  readonly #session: Session;
  readonly #takeFault: TakeFault;
  readonly outcomes = new Map<string, number>();
  events = 0;
  gaps = 0;
  inputs = 0;
  returns = 0;
  #next: bigint | undefined;
  #leave = new AbortController();
  #ended = false;
  /** The number of INPUT_RECEIVED events by request id, without the ids whose event may be in a gap. */
  readonly #received = new Map<string, number>();

  constructor(client: BridgeClient, plan: MemberPlan, takeFault: TakeFault) {
    this.plan = plan;
    this.#takeFault = takeFault;
    this.#client = client;
    this.#session = client.session(plan.id);
  }

  async start(withinMs: number, signal: AbortSignal): Promise<void> {
    const { id: sessionId, project: projectId, kind: provider, mode, repoPath } = this.plan;
    const agentOpts = { mode };
    const request = { projectId, sessionId, provider, repoPath, agentOpts };
    await this.#client.startSession(request, { timeoutMs: withinMs, signal });
    await until(`${sessionId} to run`, withinMs, async () =>
      (await this.#session.getStatus()) === SessionStatus.RUNNING ? true : undefined,
    );
  }

  /** Reads the session's events up to the last one; resumes after each `leave`. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!this.#ended && !signal.aborted) {
      const stop = AbortSignal.any([signal, this.#leave.signal]);
      try {
        for await (const event of this.#session.events({ subscriberId: "soak", signal: stop })) this.#take(event);
      } catch (err) {
        if (!stop.aborted) return this.fault(`its events ended: ${err}`);
      }
    }
  }

  /** Ends the current reading, so that `follow` begins another one. */
  leave(): void {
    this.returns++;
    // The last event may have been read but not acknowledged; then it is sent again.
    this.#leave.abort();
    this.#leave = new AbortController();
  }

  /** Sends the session one message and records the outcome. */
  async input(): Promise<void> {
    const idempotencyKey = `${this.plan.id}-m${++this.inputs}`;
    const text = `SAY ${idempotencyKey}`;
    this.#received.set(idempotencyKey, 0);
    try {
      const { outcome } = await this.#session.sendInput(text, { idempotencyKey, timeoutMs: INPUT_MS });
      this.outcomes.set(String(outcome), (this.outcomes.get(String(outcome)) ?? 0) + 1);
    } catch (err) {
      this.fault(`message ${idempotencyKey}: ${err}`);
    }
  }

  peek(): Promise<unknown> {
    return this.#session.peek({ lines: 50 }).catch((err: unknown) => this.fault(`peek: ${err}`));
  }

  fault(text: string): void {
    const { id, kind, mode } = this.plan;
    this.#takeFault({ at: new Date().toISOString(), session: id, kind: `${kind}, ${mode}`, text });
  }

  /** Stops the session, and reports each message that was not confirmed exactly once. */
  async stop(withinMs: number): Promise<void> {
    const status = await this.#session.getStatus();
    if (status !== SessionStatus.RUNNING) this.fault(`its status was ${status} at the end`);
    await this.#session.stop({ timeoutMs: withinMs });
    await until(`the last event of ${this.plan.id}`, withinMs, () => this.#ended || undefined);
    for (const [id, times] of this.#received) if (times !== 1) this.fault(`message ${id}: confirmed ${times} times`);
  }

  /** A gap was reported: it may contain the events of messages that have none so far. */
  #missed(): void {
    this.gaps++;
    for (const [id, times] of this.#received) if (times === 0) this.#received.delete(id);
  }

  #take({ seq, gap, type, requestId, done }: SessionEvent): void {
    this.events++;
    if (gap !== undefined) this.#missed();
    const first = gap?.first ?? seq;
    const repeats = this.#next !== undefined && seq < this.#next;
    if (!repeats && this.#next !== undefined && first > this.#next)
      this.fault(`event ${this.#next} is missing before ${first}`);
    if (!repeats) {
      this.#next = seq + 1n;
      const times = this.#received.get(requestId);
      if (type === EventType.INPUT_RECEIVED && times !== undefined) this.#received.set(requestId, times + 1);
    }
    this.#ended ||= done;
  }
}
