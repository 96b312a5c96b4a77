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
  /**
   * Called when a session has answered for the first time, or when its agent begins or ceases to end soon after each
   * start.
   */
  readonly onChanged: (record: SessionRecord) => void;
  /** Called when an agent has ended by itself and will not be restarted. If it throws, it is called again. */
  readonly onEnded: (record: SessionRecord, signal: AbortSignal) => Promise<void>;
}

/** Time limit for asking a sidecar, which has 3 s to answer, and for recording the answer. */
const STEP_MS = 15_000;
/**
 * The most sidecars to ask concurrently, so that a hung sidecar delays no other, and a thousand new ones are not all
 * asked at once.
 */
const WORKERS = 32;
const ASK_AGAIN_MS = 1_000;
/** Retry interval without a connection: a starting replica has no certificate for a moment. */
const LINK_AGAIN_MS = 500;
/** Interval while a pod whose agent was alive is not ready. */
const LOOK_AGAIN_MS = 5_000;

/**
 * Asks sidecars about their agents. After each start of a container, a session counts as running only once its sidecar,
 * with the session's own certificate, has answered that the agent is alive. While a confirmed pod is not ready, the
 * question is whether the agent has ended for good; the sidecar then still serves its events.
 */
export class SessionLiveness implements Task {
  readonly #deps: SessionLivenessDeps;
  readonly #queue: WorkQueue;
  /** The number of container restarts at the confirmation, by pod uid. */
  readonly #confirmed = new Map<string, number>();
  /** Agents that end soon after each start, by pod uid; `starts` as in `#confirmed`. */
  readonly #loops = new Map<string, AgentLoop & { readonly starts: number }>();
  /** Uids of pods whose sidecar was asked, whatever the result. */
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

  /** Undefined: the agent is not known to end soon after each start. */
  loopOf({ pod }: SessionRecord): AgentLoop | undefined {
    const loop = this.#loops.get(pod.uid);
    return loop?.starts === restartsOf(pod) ? loop : undefined;
  }

  /** The sidecar of every running pod has been asked at least once: a session that is not confirmed did not answer. */
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

  /** The sidecar may answer, and its answer is needed. */
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
    // The session may have been stopped or deleted meanwhile.
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

  /** Returns true if a loop began, ended, or has another exit code. Without an answer, what is known stays. */
  #noteLoop(record: SessionRecord, answer: SidecarStatusResponse | undefined): boolean {
    if (answer === undefined) return false;
    const before = this.loopOf(record)?.exitCode;
    const { uid } = record.pod;
    const isLooping = answer.state === AgentState.CRASH_LOOP;
    if (isLooping) this.#loops.set(uid, { exitCode: answer.exitCode ?? 0, starts: restartsOf(record.pod) });
    else this.#loops.delete(uid);
    return before !== this.loopOf(record)?.exitCode;
  }

  /** Undefined: there is no connection at the moment. */
  #linkTo(record: SessionRecord): SidecarLink | undefined {
    try {
      return this.#deps.pool.link(record);
    } catch (err) {
      if (err instanceof DomainError) return undefined;
      throw err;
    }
  }

  /** Undefined: the sidecar does not answer now. */
  async #statusOf(link: SidecarLink, signal: AbortSignal): Promise<SidecarStatusResponse | undefined> {
    try {
      return await sidecarStatus(link, this.#deps.clock, signal);
    } catch (err) {
      if (signal.aborted || !(err instanceof DomainError)) throw err;
      return undefined;
    }
  }
}

/** The agent exited without an error; after an error, the sidecar or the kubelet restarts it. */
function hasEndedForGood({ state, exitCode }: SidecarStatusResponse): boolean {
  return state === AgentState.DEAD && exitCode === 0;
}
