import { PrintableText, printable } from "../../../internal/base/printable-text.ts";
import { plainText } from "../../../internal/base/sanitise.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import type { GetSessionResponse } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import { openBridge } from "../../../internal/terminal/places/open-bridge.ts";
import type { PlaceConfig } from "../../../internal/terminal/places/place-config.ts";
import { alignedTable } from "../common/text/aligned-table.ts";
import { sessionJson, statusWord } from "../common/text/session-text.ts";

/** The sessions of a control plane. */
export async function runSessions(
  place: PlaceConfig,
  { json = false, quiet = false }: { readonly json?: boolean; readonly quiet?: boolean },
  { out, note, clock, signal }: CommandContext,
): Promise<number> {
  using bridge = await openBridge(place, clock);
  const sessions = await bridge.sessions(signal, note);
  if (json) out.line(PrintableText.json(sessions.map(sessionJson)));
  else if (quiet) for (const { sessionId } of sessions) out.line(printable`${sessionId}`);
  else if (sessions.length === 0) note(`no session at ${bridge.server}; gt start starts one`);
  else for (const line of table(sessions)) out.line(printable`${line}`);
  return 0;
}

function table(sessions: readonly GetSessionResponse[]): readonly string[] {
  const cells = ({ sessionId, agent, provider, status, reason, repoPath }: GetSessionResponse) => {
    const how = reason === "" ? statusWord(status) : `${statusWord(status)} (${reason})`;
    return [sessionId, agent || "-", provider || "-", how, repoPath].map(plainText);
  };
  return alignedTable([["SESSION", "AGENT", "PROVIDER", "STATUS", "FOLDER"], ...sessions.map(cells)]);
}
