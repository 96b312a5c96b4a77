import { PrintableText, printable } from "../../../internal/base/printable-text.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import type { StopResult } from "../../../internal/session/stop.ts";
import { isControlPlane, readPlace } from "../../../internal/terminal/places/place-config.ts";
import { withAgent } from "../../../internal/terminal/places/with-agent.ts";
import { takeAgent } from "../common/command/agent-arguments.ts";
import { gtUsageError } from "../common/command/arguments.ts";
import type { StopFlags } from "./stop-flags.ts";

const MAX_GRACE_MS = 600_000;

export async function runStop({ values, positionals }: Given<StopFlags>, context: CommandContext): Promise<number> {
  const place = readPlace(values, context.env);
  const [asked] = takeAgent("stop", positionals, place);
  const { grace, force = false, json = false } = values;
  if (force && grace !== undefined) throw gtUsageError("stop", "give --grace or --force, not both");
  if (grace !== undefined && (grace < 1 || grace > MAX_GRACE_MS))
    throw gtUsageError("stop", "--grace is between 1ms and 10m");
  if (grace !== undefined && isControlPlane(place))
    throw gtUsageError("stop", "--grace is for a sidecar: a control plane has its own (sessions.stop_grace_period)");
  return await withAgent(place, asked, context, async ({ agent, backend, place: found }) => {
    const result = await backend.stop({ graceMs: grace ?? 0, force }, context.signal);
    if (found.type === "bridge" && found.bead !== undefined) {
      const { clearBead } = await import("../../../internal/terminal/places/bead-of.ts");
      await clearBead(found.bead, place, context);
    }
    const { out } = context;
    if (json) out.line(PrintableText.json(resultJson(result, agent, backend.where)));
    else out.line(printable`${out.paint("green", "✓")} ${resultText(result, agent)}`);
    return 0;
  });
}

function resultText({ exitCode, signal, alreadyStopped }: StopResult, agent: string): string {
  const how = exitCode === undefined ? "" : `: exit code ${exitCode}${signal === "" ? "" : ` (${signal})`}`;
  return alreadyStopped ? `${agent} had already ended${how}` : `stopped ${agent}${how}`;
}

function resultJson({ exitCode, signal, alreadyStopped }: StopResult, agent: string, where: string) {
  return { agent, where, exit_code: exitCode, signal, already_stopped: alreadyStopped };
}
