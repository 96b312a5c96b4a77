import type { Policy } from "../domain/policy.ts";
import type { TurnRunner } from "../domain/runtimes.ts";
import type { WakeAttempt } from "../domain/types.ts";
import type { NamedConversation, WakeStore, WakeTarget } from "../domain/wake-store.ts";

type Taken = Awaited<ReturnType<TurnRunner["take"]>>;

/** How many turns without proof within 15 minutes keep a conversation from being resumed. */
const FAILURES = 3;

/**
 * Takes the conversation of an agent without a live runtime, if the policy `unmanaged` allows it and the agent is not
 * known to run elsewhere. A conversation is resumed at most `resume_max` times for a wake, and not when it is stale.
 */
export async function takeConversation(
  wakes: Pick<WakeStore, "conversation">,
  runner: TurnRunner,
  target: WakeTarget,
  attempts: readonly WakeAttempt[],
  policy: Policy,
): Promise<{ readonly role: string; readonly taken: NonNullable<Taken> } | undefined> {
  if (policy.unmanaged === "refuse") return undefined;
  if (attempts.filter(({ kind }) => kind === "resume").length >= policy.resume_max) return undefined;
  const named = await wakes.conversation(target, policy.stale_after);
  if (named === undefined || !mayResume(named)) return undefined;
  const taken = await runner.take(target.workspace, named.id);
  return taken === undefined ? undefined : { role: named.role, taken };
}

function mayResume({ isStale, isRecent, isOfBridge, failures }: NamedConversation): boolean {
  return !isStale && !isRecent && !isOfBridge && failures < FAILURES;
}
