import type { Clock } from "../../../internal/base/clock.ts";
import { DomainError } from "../../../internal/base/errors.ts";
import { type GetSessionResponse, SessionStatus } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import type { AgentStatus } from "../../../internal/session/agent-status.ts";

/** A started session, as its control plane and its agent show it. */
export interface StartedSession {
  /**
   * @throws DomainError
   */
  readonly look: (signal: AbortSignal) => Promise<GetSessionResponse>;
  /** @throws DomainError `unavailable` or `deadline` while the agent does not answer */
  readonly status: (signal: AbortSignal) => Promise<Seen>;
}

/** The result of the wait, and the session as seen last. */
export interface Readiness {
  /**
   * `ready`: the agent takes messages. `dialog`: it waits for a person's answer. `ended`: it has ended. `late`: it does
   * not take messages yet.
   */
  readonly type: "ready" | "dialog" | "ended" | "late";
  readonly session: GetSessionResponse;
}

type Seen = Pick<AgentStatus, "state" | "rows">;

const LOOK_EVERY_MS = 250;
/** An agent in a terminal whose state is uncertain for this long counts as taking messages. */
const UNCERTAIN_MS = 3_000;
const STATUS_MS = 5_000;
const OVER: ReadonlySet<SessionStatus> = new Set([SessionStatus.STOPPING, SessionStatus.STOPPED, SessionStatus.FAILED]);

/** Polls until the agent takes messages, waits for an answer or has ended, or until `timeoutMs` have passed. */
export async function untilReady(
  started: StartedSession,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
  signal: AbortSignal,
): Promise<Readiness> {
  const end = clock.monotonicMs() + timeoutMs;
  let certainAt = clock.monotonicMs();
  for (;;) {
    const session = await started.look(signal);
    if (OVER.has(session.status)) return { type: "ended", session };
    const { state, rows } = session.status === SessionStatus.RUNNING ? await seen(started, signal) : UNSEEN;
    if (state !== "uncertain") certainAt = clock.monotonicMs();
    const isSettled = state !== "uncertain" || rows === 0 || clock.monotonicMs() - certainAt >= UNCERTAIN_MS;
    if (state === "dialog") return { type: "dialog", session };
    if (state === "dead" || state === "crash-loop") return { type: "ended", session };
    if (state !== "starting" && isSettled) return { type: "ready", session };
    const leftMs = end - clock.monotonicMs();
    if (leftMs <= 0) return { type: "late", session };
    await clock.sleep(Math.min(LOOK_EVERY_MS, leftMs), signal);
  }
}

const UNSEEN: Seen = { state: "starting", rows: 0 };

/** An agent that does not answer yet is starting; the next look detects one that has ended. */
async function seen({ status }: StartedSession, signal: AbortSignal): Promise<Seen> {
  const patience = AbortSignal.timeout(STATUS_MS);
  try {
    return await status(AbortSignal.any([signal, patience]));
  } catch (err) {
    signal.throwIfAborted();
    const mayPass = err instanceof DomainError && ["unavailable", "deadline", "precondition"].includes(err.kind);
    if (patience.aborted || mayPass) return UNSEEN;
    throw err;
  }
}
