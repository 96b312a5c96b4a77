import { randomUUID } from "node:crypto";
import { DomainError } from "../../../internal/base/errors.ts";
import { PrintableText, printable } from "../../../internal/base/printable-text.ts";
import { type GetSessionResponse, SessionStatus } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import type { Given } from "../common/command.ts";
import type { CommandContext } from "../common/command-context.ts";
import { openBridge } from "../common/open-bridge.ts";
import { readPlace } from "../common/place-config.ts";
import { sessionJson, statusWord } from "../common/session-text.ts";
import type { StartFlags } from "./start-flags.ts";
import { readStart } from "./start-options.ts";

const NOT_STARTED = 6;

export async function runStart(given: Given<StartFlags>, context: CommandContext): Promise<number> {
  const place = readPlace(given.values, context.env);
  const { provider, path: repoPath, agentOpts, quiet, json, ...asked } = readStart(given, place.cwd);
  using bridge = await openBridge(place, context.clock);
  const { project: projectId, server } = bridge;
  if (projectId === undefined) {
    throw new DomainError("invalid", "which project? the token does not tell", { fields: { hint: "give --project" } });
  }
  const sessionId = asked.sessionId ?? randomUUID();
  const request = { projectId, sessionId, repoPath, provider, agentOpts };
  await bridge.call(context.signal, (client, options) =>
    client.startSession(request, { ...options, timeoutMs: 90_000 }),
  );
  const session = await bridge.call(context.signal, (client, options) => client.getSession({ sessionId }, options));
  const { out, error } = context;
  if (json) out.line(PrintableText.json(sessionJson(session)));
  if (hasFailed(session)) {
    if (!json) error(`session ${sessionId} could not be started: ${session.error || "no reason is known"}`, "");
    return NOT_STARTED;
  }
  if (quiet) out.line(printable`${sessionId}`);
  else if (!json) {
    out.line(
      printable`${out.paint("green", "✓")} session ${sessionId}: ${provider} in ${repoPath} at ${server}, ${statusWord(session.status)}`,
    );
  }
  return 0;
}

function hasFailed({ status }: GetSessionResponse): boolean {
  return status === SessionStatus.FAILED;
}
