import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import { WorkQueue } from "../../kube/queue/work-queue.ts";
import { ANNOTATIONS } from "../pods/names.ts";
import type { PodClient } from "../pods/pod-client.ts";
import type { SessionPods } from "../pods/session-pods.ts";
import {
  isOver,
  isSecured,
  isStopping,
  isUnlabelled,
  isWaiting,
  keyText,
  type SessionRecord,
} from "../pods/session-record.ts";
import type { SessionOpening } from "./session-opening.ts";
import type { SessionStopper } from "./session-stopper.ts";

export interface SessionKeeperDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  readonly pods: SessionPods;
  readonly client: PodClient;
  readonly opening: SessionOpening;
  readonly stopper: SessionStopper;
}

const WORKERS = 8;
const STEP_MS = 120_000;
/**
 * The replica that received the call does the work. After this time, longer than that replica waits, the work counts as
 * abandoned.
 */
const START_LEFT_MS = 15_000;
const STOP_LEFT_MS = 15_000;
/**
 * Interval of checks for changes that the watch of Secrets did not show; longer with many sessions: ten checks per
 * second in total.
 */
const LOOK_MS = 300_000;
const LOOK_OF_EACH_MS = 100;
/** Nothing is deleted while the known state of the cluster is older than this. */
const STALE_MS = 300_000;

/**
 * The leader's work on sessions: completes starts and stops that another replica abandoned, renews certificates, and
 * deletes pods after their retention. Every step is based on the current state and is idempotent.
 */
export class SessionKeeper implements Task {
  readonly #deps: SessionKeeperDeps;
  readonly #retentionMs: number;
  readonly #queue: WorkQueue;

  constructor(deps: SessionKeeperDeps, options: { readonly retentionMs: number }) {
    const { clock, logger } = deps;
    this.#deps = deps;
    this.#retentionMs = options.retentionMs;
    const reconcile = (key: string, signal: AbortSignal) => this.#reconcile(key, signal);
    this.#queue = new WorkQueue(
      { clock, logger, reconcile },
      { name: "sessions", workers: WORKERS, timeoutMs: STEP_MS, groups: deps.pods.sharesOf(WORKERS) },
    );
  }

  /** The number of sessions that wait for a worker. */
  get depth(): number {
    return this.#queue.depth;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pods } = this.#deps;
    const forget = pods.listen(({ type, record }) => {
      if (type === "changed") this.#queue.add(keyText(record.key));
    });
    try {
      this.lookAtAll();
      await this.#queue.run(signal);
    } finally {
      forget();
    }
  }

  /** Checks all sessions, e.g. because the CA has changed. */
  lookAtAll(): void {
    for (const record of this.#deps.pods.all()) this.lookAt(record);
  }

  /** Checks a session, e.g. because its Secret was changed. */
  lookAt({ key }: SessionRecord, delayMs = 0): void {
    if (delayMs > 0) this.#queue.addAfter(keyText(key), delayMs);
    else this.#queue.add(keyText(key));
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const record = this.#deps.pods.at(key);
    if (record === undefined || record.pod.deletedAt !== undefined) return;
    const inMs = await this.#step(record, signal);
    if (inMs !== undefined) this.#queue.addAfter(key, inMs);
  }

  /** Takes one step; returns when to check again, in ms, or undefined: at the next change. */
  async #step(record: SessionRecord, signal: AbortSignal): Promise<number | undefined> {
    const { clock, stopper, opening } = this.#deps;
    const { pod } = record;
    const stopped = pod.annotations[ANNOTATIONS.stoppedAt];
    if (stopped !== undefined) {
      await opening.close(record, signal);
      const stoppedAt = Date.parse(stopped);
      if (Number.isNaN(stoppedAt)) return void (await stopper.noteEndAgain(record, signal));
      return await this.#retire(record, stoppedAt + this.#retentionMs, signal);
    }
    if (isOver(pod)) return void (await stopper.complete(record, signal));
    if (isStopping(record)) {
      const askedAt = Date.parse(pod.annotations[ANNOTATIONS.stopRequested] ?? "") || 0;
      const leftMs = askedAt + STOP_LEFT_MS - clock.now();
      if (leftMs > 0) return leftMs;
      if (await stopper.complete(record, signal)) return undefined;
      // The pod has not run yet. It needs its certificate to run, and must run to be stopped.
    }
    if (!isSecured(record) || isUnlabelled(record)) return undefined;
    if (!isWaiting(record)) return Math.min(await opening.look(record, signal), this.#lookMs());
    const leftMs = pod.createdAt + START_LEFT_MS - clock.now();
    if (leftMs > 0) return leftMs;
    await opening.open(record, signal);
    return this.#lookMs();
  }

  async #retire(record: SessionRecord, dueAt: number, signal: AbortSignal): Promise<number | undefined> {
    const { clock, client, pods } = this.#deps;
    const { pod, isOwn } = record;
    const leftMs = dueAt - clock.now();
    if (!isOwn || leftMs > 0) return await this.#keepReadable(record, isOwn ? leftMs : this.#lookMs(), signal);
    if (!pods.isSynced || pods.staleMs > STALE_MS) {
      throw new DomainError("unavailable", "cannot delete a pod: the known state of the cluster is too old");
    }
    await client.delete(pod, signal);
    return undefined;
  }

  /** A stopped session's sidecar serves its events, so its certificate is renewed until its container ends. */
  async #keepReadable(record: SessionRecord, leftMs: number, signal: AbortSignal): Promise<number> {
    if (isOver(record.pod) || !isSecured(record)) return leftMs;
    return Math.min(leftMs, await this.#deps.opening.look(record, signal), this.#lookMs());
  }

  #lookMs(): number {
    const count = [...this.#deps.pods.all()].length;
    return Math.max(LOOK_MS, count * LOOK_OF_EACH_MS) * (0.9 + 0.2 * this.#deps.random());
  }
}
