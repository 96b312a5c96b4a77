import type { Clock } from "../base/clock.ts";
import { runTasks } from "../base/task-group.ts";
import { respond } from "../pane/delivery/respond.ts";
import type { RespondRequest, RespondResult } from "../session/types.ts";
import type { LocalAgent } from "./local-agent.ts";
import type { SessionLock } from "./session-lock.ts";
import type { TmuxSession } from "./tmux-session.ts";

export interface LocalRespondDeps {
  readonly clock: Clock;
  readonly session: TmuxSession;
  readonly agent: LocalAgent;
  readonly lock: SessionLock;
}

/** How long to wait for others to finish typing. */
const LOCK_MS = 30_000;

/** Answers a dialog of a local session with the same steps as the sidecar, while no other `gt` types. */
export async function respondLocal(
  { clock, session, agent, lock }: LocalRespondDeps,
  request: RespondRequest,
  signal: AbortSignal,
): Promise<RespondResult> {
  await using held = await lock.take(LOCK_MS, signal);
  let pressed = false;
  const deps = {
    clock,
    writer: session.pane,
    source: agent.source,
    profile: agent.program.profile,
    alive: () => agent.absent === undefined,
    onPress: () => {
      pressed = true;
    },
  };
  let result: RespondResult | undefined;
  const work = {
    run: async (stop: AbortSignal) => {
      result = await respond(deps, request, stop);
    },
  };
  try {
    await runTasks(signal, [agent, work]);
  } finally {
    if (pressed) await held.typed(clock.now());
  }
  signal.throwIfAborted();
  if (result === undefined) throw new Error("the answer ended without a result");
  return result;
}
