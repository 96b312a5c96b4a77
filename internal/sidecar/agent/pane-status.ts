import type { OutputStream } from "../../pane/screen/output.ts";
import type { StateReport } from "../../pane/state/state-monitor.ts";
import type { PaneStatus } from "../../session/types.ts";
import type { AgentLifecycle } from "../lifecycle/agent-lifecycle.ts";

export interface StatusFacts extends Pick<PaneStatus, "queueDepth" | "attached" | "versions"> {
  readonly lifecycle: Pick<AgentLifecycle, "alive" | "exitCode" | "life">;
  readonly report: StateReport;
  readonly output: Pick<OutputStream, "lastOutputAt" | "epoch" | "emulator">;
}

/** The agent's status at `now` (wall clock, ms), from what is already known of it. */
export function paneStatus({ lifecycle, report, output, ...numbers }: StatusFacts, now: number): PaneStatus {
  const { alive, exitCode } = lifecycle;
  const { pid, restarts, startedAt, agentSessionId } = lifecycle.life;
  const { state, since, evidence, dialog, draft, background, parkedUntil } = report;
  const { lastOutputAt, epoch, emulator } = output;
  return {
    ...{ alive, state, stateSince: since, evidence, restarts, epoch, draft, background, ...numbers },
    dialog,
    agentPid: alive ? pid : 0,
    exitCode,
    uptimeSeconds: alive ? Math.max(0, Math.floor((now - startedAt) / 1000)) : 0,
    lastOutputAt,
    cols: emulator.cols,
    rows: emulator.rows,
    parkedUntil,
    agentSessionId,
  };
}
