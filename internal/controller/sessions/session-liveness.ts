import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import type { SidecarLink } from "../../bridge/sidecar-link.ts";
import { WorkQueue } from "../../kube/work-queue.ts";
import { podVerdict } from "../pods/pod-status.ts";
import type { SessionPods } from "../pods/session-pods.ts";
import { keyText, type SessionRecord } from "../pods/session-record.ts";
import type { SidecarPool } from "../pods/sidecar-pool.ts";
import { sidecarStatus } from "../pods/sidecar-status.ts";

export interface SessionLivenessDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pods: SessionPods;
  readonly pool: Pick<SidecarPool, "link">;
  /** A session, as it is now, has answered for the first time. */
  readonly onConfirmed: (record: SessionRecord) => void;
}

/** For one sidecar, which has 3 s to answer. */
const STEP_MS = 6_000;
/** The most sidecars asked at a time, so that a hung one delays none and a thousand new ones are paced. */
const WORKERS = 32;
const ASK_AGAIN_MS = 1_000;
/** While there is no way to it: a replica that starts has no certificate for a moment. */
const LINK_AGAIN_MS = 500;

/**
 * Finds out once for each start of a sidecar's container whether it answers over the session's own certificate and its
 * agent lives: only then is the session running.
 */
export class SessionLiveness implements Task {
  readonly #deps: SessionLivenessDeps;
  readonly #queue: WorkQueue;
  /** By pod uid: the start that was confirmed. */
  readonly #confirmed = new Map<string, number>();
  /** By pod uid: whose sidecar was asked, whatever came of it. */
  readonly #asked = new Set<string>();

  constructor(deps: SessionLivenessDeps) {
    const { clock, logger } = deps;
    this.#deps = deps;
    const reconcile = (key: string, signal: AbortSignal) => this.#ask(key, signal);
    this.#queue = new WorkQueue(
      { clock, logger, reconcile },
      { name: "liveness", workers: WORKERS, timeoutMs: STEP_MS },
    );
  }

  isConfirmed({ pod }: SessionRecord): boolean {
    return this.#confirmed.get(pod.uid) === startsOf(pod);
  }

  /** Each session whose pod runs was asked at least once: those that are not confirmed do not answer. */
  get isCaughtUp(): boolean {
    return this.#deps.pods.all().every((record) => !isRunning(record) || this.#asked.has(record.pod.uid));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pods } = this.#deps;
    const look = (record: SessionRecord) => {
      if (isRunning(record) && !this.isConfirmed(record)) this.#queue.add(keyText(record.key));
    };
    const forget = pods.listen(({ type, record }) => {
      if (type === "changed") return look(record);
      this.#confirmed.delete(record.pod.uid);
      this.#asked.delete(record.pod.uid);
    });
    try {
      for (const record of pods.all()) look(record);
      await this.#queue.run(signal);
    } finally {
      forget();
    }
  }

  async #ask(key: string, signal: AbortSignal): Promise<void> {
    const { pods, onConfirmed } = this.#deps;
    const record = pods.at(key);
    if (record === undefined || this.isConfirmed(record) || !isRunning(record)) return;
    const link = this.#linkTo(record);
    if (link === undefined) return this.#queue.addAfter(key, LINK_AGAIN_MS);
    const lives = await this.#lives(link, signal);
    // Meanwhile it may have been stopped, or be gone.
    const now = pods.at(key);
    if (now?.pod.uid !== record.pod.uid) return;
    this.#asked.add(now.pod.uid);
    if (!lives) return this.#queue.addAfter(key, ASK_AGAIN_MS);
    this.#confirmed.set(now.pod.uid, startsOf(record.pod));
    onConfirmed(now);
  }

  /** Undefined: there is none at the moment. */
  #linkTo(record: SessionRecord): SidecarLink | undefined {
    try {
      return this.#deps.pool.link(record);
    } catch (err) {
      if (err instanceof DomainError) return undefined;
      throw err;
    }
  }

  async #lives(link: SidecarLink, signal: AbortSignal): Promise<boolean> {
    try {
      return (await sidecarStatus(link, this.#deps.clock, signal)).sessionAlive;
    } catch (err) {
      if (signal.aborted || !(err instanceof DomainError)) throw err;
      return false;
    }
  }
}

function isRunning({ pod }: SessionRecord): boolean {
  return podVerdict(pod).status === "running";
}

function startsOf({ status }: SessionRecord["pod"]): number {
  return status.containers.reduce((sum, { restarts }) => sum + restarts, 0);
}
