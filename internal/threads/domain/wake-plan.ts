import { classOf } from "./authority.ts";
import type { MemberKind, ThreadStatus, Urgency, WakeSetting } from "./types.ts";

/** The fields of a stored message that decide which agents it wakes. */
export interface WakingMessage {
  readonly sender: string;
  readonly urgency: Urgency;
  readonly to?: readonly string[] | undefined;
  readonly toRole?: readonly string[] | undefined;
  readonly recipients?: readonly string[] | undefined;
}

export interface WakeCandidate {
  readonly agentId: string;
  readonly role: string;
  readonly kind: MemberKind;
  readonly wake: WakeSetting;
}

export interface PlannedWake {
  readonly agentId: string;
  readonly urgency: Urgency;
  /** An operator forces the wake: it waits neither for quiet keys nor for the end of the agent's turn. */
  readonly force?: boolean;
  /** Delay from now, ms: time for an agent in a long poll to read the message first. */
  readonly delayMs: number;
}

const DELAY_MS = 500;

/**
 * Plans the wakes of a message in a thread with this status. `byGuard`: the loop guard has blocked the thread.
 * `orchestrator`: the agent that the policy names, or empty.
 */
export function planWakes(
  message: WakingMessage,
  thread: { readonly status: ThreadStatus; readonly byGuard: boolean; readonly orchestrator: string },
  candidates: readonly WakeCandidate[],
): readonly PlannedWake[] {
  if (message.urgency === "quiet" || thread.status === "closed" || thread.byGuard) return [];
  const commands = (one: WakeCandidate) => classOf(one.role, one.agentId, thread.orchestrator) === "orchestrator";
  const delayMs = message.urgency === "normal" ? DELAY_MS : 0;
  return candidates
    .filter((one) => isWoken(one, message) && (thread.status !== "blocked" || commands(one)))
    .map(({ agentId }) => ({ agentId, urgency: message.urgency, delayMs }));
}

function isWoken(one: WakeCandidate, message: WakingMessage): boolean {
  if (one.kind === "person" || one.agentId === message.sender || one.wake === "never") return false;
  if (message.recipients !== undefined && !message.recipients.includes(one.agentId)) return false;
  if (one.wake === "all") return true;
  return (message.to?.includes(one.agentId) ?? false) || (message.toRole?.includes(one.role) ?? false);
}
