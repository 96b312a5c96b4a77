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
/** The replica that received the call does it; after this time, longer than it waits, its work counts as abandoned. */
const START_LEFT_MS = 15_000;
const STOP_LEFT_MS = 15_000;
/**
 * What the watch of Secrets does not show is found within this, with more sessions later: ten looks a second in all.
 */
const LOOK_MS = 300_000;
const LOOK_OF_EACH_MS = 100;
/** Nothing is deleted by what was known of the cluster so long ago. */
const STALE_MS = 300_000;

/**
 * The leader's work on sessions: completes starts and stops that another replica left behind, keeps certificates
 * current, and deletes pods whose retention is over. Every step looks at what is and is safe to make twice.
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

  /** Sessions that wait for a worker. */
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

  /** E.g. because the CA has changed. */
  lookAtAll(): void {
    for (const record of this.#deps.pods.all()) this.lookAt(record);
  }

  /** E.g. because its Secret was changed. */
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

  /** One step; after how many ms to look again, undefined: when something changes. */
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
      // It has yet to run: without its certificate it never would, and could not be stopped.
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

  /** A stopped session's sidecar serves its events: its certificate is kept current until its container ends. */
  async #keepReadable(record: SessionRecord, leftMs: number, signal: AbortSignal): Promise<number> {
    if (isOver(record.pod) || !isSecured(record)) return leftMs;
    return Math.min(leftMs, await this.#deps.opening.look(record, signal), this.#lookMs());
  }

  #lookMs(): number {
    const count = [...this.#deps.pods.all()].length;
    return Math.max(LOOK_MS, count * LOOK_OF_EACH_MS) * (0.9 + 0.2 * this.#deps.random());
  }
}
