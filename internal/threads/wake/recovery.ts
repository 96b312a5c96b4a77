import { DomainError } from "../../base/errors.ts";
import { digestOf } from "../domain/digest.ts";
import { requestIdOf } from "../domain/ids.ts";
import type { Policy } from "../domain/policy.ts";
import {
  adoptedSession,
  type LastSession,
  optionsFor,
  planRecovery,
  type SessionStart,
  templateFor,
} from "../domain/recovery.ts";
import type { SessionSpawner } from "../domain/runtimes.ts";
import type { WakeAttempt, WakeNews } from "../domain/types.ts";
import type { AttemptIntent, ClaimedWake, RecentLife } from "../domain/wake-store.ts";
import { summaryText, type WaitingThread } from "../domain/wake-text.ts";
import type { WakeWorkerDeps } from "./wake-worker-deps.ts";

type Deps = Pick<WakeWorkerDeps, "store" | "wakes" | "logger"> & { readonly by: string };

/** The result of a step, after which the wake is deferred. */
export interface Recovered {
  /** The time until the next step. Absent: a back-off, because the bridge did not answer. */
  readonly againMs?: number;
  readonly blockedBy: "starting" | "unreachable" | "rate";
  readonly news?: WakeNews;
  /** The attempt that ended with this step, and its outcome. */
  readonly ended?: { readonly attempt: number; readonly outcome: string };
}

const SOON_MS = 1000;
const PEOPLE_MS = 30_000;
/** The errors of a start that a retry cannot fix. */
const FINAL: ReadonlySet<string> = new Set(["invalid", "denied", "precondition", "not-found", "unimplemented"]);
/** The outcomes after which the agent may have received the text. */
const GIVEN: ReadonlySet<string> = new Set(["submitted", "unknown", "stranded"]);
const SUMMARY_BYTES = 8192;
const SUMMARY_THREADS = 4;

/** Recovers an agent without a live runtime, one step at a time. */
export class Recovery {
  readonly #deps: Deps;
  readonly #claimed: ClaimedWake;
  readonly #starter: SessionSpawner;

  constructor(deps: Deps, claimed: ClaimedWake, starter: SessionSpawner) {
    this.#deps = deps;
    this.#claimed = claimed;
    this.#starter = starter;
  }

  /** Takes the next step. Undefined: another process has claimed the wake, or the agent cannot be recovered. */
  async next(attempts: readonly WakeAttempt[], policy: Policy, signal: AbortSignal): Promise<Recovered | undefined> {
    const { wakes, by } = this.#deps;
    const { workspace, wake } = this.#claimed;
    const life = await wakes.recentLife(this.#claimed, policy.stale_after);
    const last = lastOf(life, policy);
    let canResume: boolean;
    try {
      canResume = last !== undefined && (await this.#starter.canResume(workspace, last.provider, signal));
    } catch (err) {
      if (!(err instanceof DomainError) || signal.aborted) throw err;
      this.#deps.logger.debug({ err, agent: wake.agentId }, "a bridge cannot be asked whether it can resume an agent");
      return { blockedBy: "unreachable" };
    }
    const begun = (kind: WakeAttempt["kind"]) => attempts.filter((one) => one.kind === kind).length;
    const template = templateFor(policy.spawn, life.role);
    const counts = { resumes: begun("resume"), spawns: begun("spawn") };
    const { last: managed, unmanaged, recentStarts, hourlySpawns } = life;
    const known = { last, isManaged: managed !== undefined, isRecent: unmanaged?.isRecent ?? false };
    const step = planRecovery({ ...known, ...counts, recentStarts, hourlySpawns, canResume, template }, policy);
    if (step.type === "unmanaged") return undefined;
    if (step.type === "wait") return { againMs: PEOPLE_MS, blockedBy: "rate" };
    if (step.type === "escalate") return { againMs: PEOPLE_MS, blockedBy: "unreachable", news: "fallback" };
    const attempt = wake.attempts + 1;
    const sessionId = requestIdOf(wake.wakeId, attempt);
    const before = { epoch: last?.sessionId ?? "", text: "", upto: {} };
    const intent = { attempt, requestId: sessionId, sessionId, kind: step.type, ...before };
    if ((await wakes.begin(this.#claimed, by, intent)) === undefined) return undefined;
    return await this.#start(intent, life, policy, signal);
  }

  /** Starts the session of an attempt. Repeated calls, by any process, start one session. */
  async start(intent: AttemptIntent, policy: Policy, signal: AbortSignal): Promise<Recovered> {
    const life = await this.#deps.wakes.recentLife(this.#claimed, policy.stale_after);
    return await this.#start(intent, life, policy, signal);
  }

  async #start(intent: AttemptIntent, life: RecentLife, policy: Policy, signal: AbortSignal): Promise<Recovered> {
    const { attempt, requestId, kind } = intent;
    const { workspace, wake } = this.#claimed;
    const about = { workspace, wake: wake.wakeId, agent: wake.agentId, session: requestId, step: kind };
    const request = this.#requestOf(intent, life, policy);
    if (request === undefined) return { againMs: 0, blockedBy: "unreachable", ended: { attempt, outcome: "refused" } };
    try {
      await this.#starter.start(workspace, request, signal);
    } catch (err) {
      if (!(err instanceof DomainError) || signal.aborted) throw err;
      // An earlier call started the session, before the policy changed.
      if (err.kind === "already-exists")
        return { againMs: SOON_MS, blockedBy: "starting", ended: { attempt, outcome: "started" } };
      this.#deps.logger.warn({ ...about, err }, "an agent's session could not be started");
      if (!FINAL.has(err.kind)) return { blockedBy: "unreachable" };
      return { againMs: 0, blockedBy: "unreachable", ended: { attempt, outcome: "refused" } };
    }
    this.#deps.logger.info(about, "started a new session for an agent");
    return { againMs: SOON_MS, blockedBy: "starting", ended: { attempt, outcome: "started" } };
  }

  #requestOf({ sessionId, kind }: AttemptIntent, life: RecentLife, policy: Policy): SessionStart | undefined {
    const { workspace, wake } = this.#claimed;
    const own = (options: SessionStart["agentOpts"]) => optionsFor(workspace, wake.agentId, options);
    if (kind === "resume") {
      const last = lastOf(life, policy);
      if (last === undefined || last.agentSessionId === "") return undefined;
      const { provider, repoPath, agentOpts, agentSessionId } = last;
      return { sessionId, provider, repoPath, agentOpts: { ...own(agentOpts), resume: agentSessionId } };
    }
    const template = templateFor(policy.spawn, life.role);
    if (template === undefined) return undefined;
    const { provider, repo_path: repoPath, agent_opts: agentOpts = {} } = template;
    return { sessionId, provider, repoPath, agentOpts: own(agentOpts) };
  }
}

function lastOf({ last, unmanaged, role }: RecentLife, { spawn }: Policy): LastSession | undefined {
  return last ?? adoptedSession(unmanaged, templateFor(spawn, role));
}

/** Whether this session was spawned for the wake and has not been given a text. */
export function isFresh(attempts: readonly WakeAttempt[], sessionId: string): boolean {
  const own = attempts.filter((one) => one.sessionId === sessionId);
  return own.some(({ kind }) => kind === "spawn") && !own.some(({ outcome = "" }) => GIVEN.has(outcome));
}

/**
 * The first text for a session that was spawned: a line about the waiting messages, and digests of the first four
 * threads, of at most 8 KiB in all.
 */
export async function firstText(
  { store }: Pick<WakeWorkerDeps, "store">,
  { workspace, wake }: ClaimedWake,
  requestId: string,
  waiting: readonly WaitingThread[],
): Promise<string> {
  const reads = store.reads(workspace);
  const shown = waiting.slice(0, SUMMARY_THREADS);
  const digests: string[] = [];
  for (const { threadId } of shown) {
    const [thread, participants] = [await reads.thread(threadId), await reads.participants(threadId)];
    if (thread === undefined) continue;
    const messages = await reads.lastMessages(threadId, 200);
    digests.push(digestOf(thread, participants, messages, Math.floor(SUMMARY_BYTES / shown.length)).text);
  }
  return summaryText(requestId, waiting, wake.agentId, digests);
}
