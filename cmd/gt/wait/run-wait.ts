import { PrintableText, printable } from "../../../internal/base/printable-text.ts";
import { foldedLine } from "../../../internal/base/sanitise.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import { durationText } from "../../../internal/cli/wording.ts";
import { withAgent } from "../../../internal/terminal/places/with-agent.ts";
import { behindText, statusJson } from "../common/text/status-text.ts";
import type { WaitFlags } from "./wait-flags.ts";
import { readWait } from "./wait-options.ts";
import { waitUntil } from "./wait-until.ts";

const NOT_REACHED = 5;

export async function runWait(given: Given<WaitFlags>, context: CommandContext): Promise<number> {
  const { place, agent: asked, goal, timeoutMs, json } = readWait(given, context.env);
  return await withAgent(place, asked, context, async ({ agent, backend }) => {
    const { out, clock, signal, error } = context;
    const begun = clock.monotonicMs();
    const { reached, status } = await waitUntil(goal, backend, { clock, timeoutMs }, signal);
    const waitedMs = Math.round(clock.monotonicMs() - begun);
    const { where } = backend;
    if (json) {
      const seen = status === undefined ? { agent, where } : statusJson({ type: "status", agent, where, status });
      out.line(PrintableText.json({ ...seen, for: goal, reached, waited_ms: waitedMs }));
    }
    const unseen = reached ? goal : "starting";
    const now = status === undefined ? unseen : `${status.state}${behindText(status)}`;
    const why = status?.why === undefined ? "" : `: ${status.why}`;
    if (!reached && !json)
      error(
        `${agent} is ${now} after ${durationText(waitedMs)}, not ${goal}`,
        status?.state === "dead"
          ? foldedLine(status.why ?? "its process has ended")
          : "give a longer --timeout to wait longer",
      );
    else if (!json) out.line(printable`${foldedLine(agent)} is ${now}${foldedLine(why)}`);
    return reached ? 0 : NOT_REACHED;
  });
}
