import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import type { SidecarLink } from "../../bridge/sidecar-link.ts";
import { AgentState } from "../../gen/gastown/v1/common_pb.ts";
import type { SidecarStatusResponse } from "../../gen/gastown/v1/sidecar_pb.ts";
import { WorkQueue } from "../../kube/queue/work-queue.ts";
import { hasSidecarStarted, isReady, podVerdict } from "../pods/pod-status.ts";
import type { SessionPods } from "../pods/session-pods.ts";
import {
  type AgentLoop,
  hasEnded,
  isStopping,
  keyText,
  restartsOf,
  type SessionRecord,
} from "../pods/session-record.ts";
import type { SidecarPool } from "../pods/sidecar-pool.ts";
import { sidecarStatus } from "../pods/sidecar-status.ts";

export interface SessionLivenessDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pods: SessionPods;
  readonly pool: Pick<SidecarPool, "link">;
  /** A session, as it is now, has answered for the first time, or ends again and again, or no longer does. */
  readonly onChanged: (record: SessionRecord) => void;
  /** Its agent has ended by itself and is not started again. What it throws has it called again. */
  readonly onEnded: (record: SessionRecord, signal: AbortSignal) => Promise<void>;
}

/** A question, which a sidecar has 3 s to answer, and noting the answer. */
const STEP_MS = 15_000;
/** The most sidecars asked at a time, so that a hung one delays none and a thousand new ones are paced. */
const WORKERS = 32;
const ASK_AGAIN_MS = 1_000;
/** While there is no way to it: a replica that starts has no certificate for a moment. */
const LINK_AGAIN_MS = 500;
/** While a pod whose agent was alive is not ready. */
const LOOK_AGAIN_MS = 5_000;

/**
 * Asks sidecars about their agents. After each start of a container, whether it answers over the session's own
 * certificate and its agent lives: only then is the session running. And while such a pod is not ready, whether the
 * agent has ended for good: its sidecar serves its events on.
 */
export class SessionLiveness implements Task {
  readonly #deps: SessionLivenessDeps;
  readonly #queue: WorkQueue;
  /** By pod uid: the start that was confirmed. */
  readonly #confirmed = new Map<string, number>();
  /** By pod uid, of the same start: an agent that ends soon after each start. */
  readonly #loops = new Map<string, AgentLoop & { readonly starts: number }>();
  /** By pod uid: whose sidecar was asked, whatever came of it. */
  readonly #asked = new Set<string>();

  constructor(deps: SessionLivenessDeps) {
    const { clock, logger } = deps;
    this.#deps = deps;
    const reconcile = (key: string, signal: AbortSignal) => this.#ask(key, signal);
    this.#queue = new WorkQueue(
      { clock, logger, reconcile },
      { name: "liveness", workers: WORKERS, timeoutMs: STEP_MS, groups: deps.pods.sharesOf(WORKERS) },
    );
  }

  isConfirmed({ pod }: SessionRecord): boolean {
    return this.#confirmed.get(pod.uid) === restartsOf(pod);
  }

  /** Undefined: its agent does not end soon after each start, as far as is known. */
  loopOf({ pod }: SessionRecord): AgentLoop | undefined {
    const loop = this.#loops.get(pod.uid);
    return loop?.starts === restartsOf(pod) ? loop : undefined;
  }

  /** Each session whose pod runs was asked at least once: those that are not confirmed do not answer. */
  get isCaughtUp(): boolean {
    return this.#deps.pods.all().every((record) => !this.#isDue(record) || this.#asked.has(record.pod.uid));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pods } = this.#deps;
    const look = (record: SessionRecord) => {
      if (this.#isDue(record)) this.#queue.add(keyText(record.key));
    };
    const forget = pods.listen(({ type, record }) => {
      if (type === "changed") return look(record);
      this.#confirmed.delete(record.pod.uid);
      this.#loops.delete(record.pod.uid);
      this.#asked.delete(record.pod.uid);
    });
    try {
      for (const record of pods.all()) look(record);
      await this.#queue.run(signal);
    } finally {
      forget();
    }
  }

  /** Its sidecar may answer, and the answer is not known. */
  #isDue(record: SessionRecord): boolean {
    const { pod } = record;
    if (hasEnded(record) || isStopping(record)) return false;
    const { status, reason } = podVerdict(pod);
    if (status !== "running" && !(status === "starting" && hasSidecarStarted(pod))) return false;
    if (this.loopOf(record) !== undefined) return true;
    return !this.isConfirmed(record) || (!isReady(pod) && reason !== "NodeLost");
  }

  async #ask(key: string, signal: AbortSignal): Promise<void> {
    const { pods, onChanged, onEnded } = this.#deps;
    const record = pods.at(key);
    if (record === undefined || !this.#isDue(record)) return;
    const link = this.#linkTo(record);
    if (link === undefined) return this.#queue.addAfter(key, LINK_AGAIN_MS);
    const answer = await this.#statusOf(link, signal);
    // Meanwhile it may have been stopped, or be gone.
    const now = pods.at(key);
    if (now?.pod.uid !== record.pod.uid) return;
    this.#asked.add(now.pod.uid);
    if (answer !== undefined && this.#isDue(now) && hasEndedForGood(answer)) return await onEnded(now, signal);
    const isNews = this.#noteLoop(record, answer);
    const isFirst = answer?.sessionAlive === true && !this.isConfirmed(record);
    if (isFirst) this.#confirmed.set(now.pod.uid, restartsOf(record.pod));
    if (isFirst || isNews) onChanged(now);
    if (this.#isDue(now)) this.#queue.addAfter(key, this.isConfirmed(now) ? LOOK_AGAIN_MS : ASK_AGAIN_MS);
  }

  /** Whether it has begun, has ended, or its agent ended in another way. No answer changes nothing. */
  #noteLoop(record: SessionRecord, answer: SidecarStatusResponse | undefined): boolean {
    if (answer === undefined) return false;
    const before = this.loopOf(record)?.exitCode;
    const { uid } = record.pod;
    const isLooping = answer.state === AgentState.CRASH_LOOP;
    if (isLooping) this.#loops.set(uid, { exitCode: answer.exitCode ?? 0, starts: restartsOf(record.pod) });
    else this.#loops.delete(uid);
    return before !== this.loopOf(record)?.exitCode;
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

  /** Undefined: it does not answer now. */
  async #statusOf(link: SidecarLink, signal: AbortSignal): Promise<SidecarStatusResponse | undefined> {
    try {
      return await sidecarStatus(link, this.#deps.clock, signal);
    } catch (err) {
      if (signal.aborted || !(err instanceof DomainError)) throw err;
      return undefined;
    }
  }
}

/** Without an error: one that ends with an error is started again, by its sidecar or by the kubelet. */
function hasEndedForGood({ state, exitCode }: SidecarStatusResponse): boolean {
  return state === AgentState.DEAD && exitCode === 0;
}
