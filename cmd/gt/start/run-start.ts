import { randomUUID } from "node:crypto";
import { DomainError } from "../../../internal/base/errors.ts";
import { PrintableText, printable } from "../../../internal/base/printable-text.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import { type GetSessionResponse, SessionStatus } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import type { SessionBead } from "../../../internal/terminal/places/bead-of.ts";
import { type OpenBridge, openBridge } from "../../../internal/terminal/places/open-bridge.ts";
import { type PlaceConfig, readPlace } from "../../../internal/terminal/places/place-config.ts";
import { sessionJson, statusWord } from "../common/text/session-text.ts";
import type { StartFlags } from "./start-flags.ts";
import { readStart } from "./start-options.ts";

const NOT_STARTED = 6;
const PLACED_MS = 90_000;
const LOOK_MS = 250;

export async function runStart(given: Given<StartFlags>, context: CommandContext): Promise<number> {
  const place = readPlace(given.values, context.env);
  const { provider, path: repoPath, agentOpts, bead, quiet, json, ...asked } = readStart(given, place.cwd);
  using bridge = await openBridge(place, context.clock);
  const { project: projectId, server } = bridge;
  if (projectId === undefined) {
    throw new DomainError("invalid", "which project? the token does not name one", {
      fields: { hint: "give --project" },
    });
  }
  const record = bead === undefined ? undefined : await beadToWrite(bead, place, context.signal);
  const sessionId = asked.sessionId ?? randomUUID();
  const request = { projectId, sessionId, repoPath, provider, agentOpts };
  try {
    await bridge.call(context.signal, (client, options) =>
      client.startSession(request, { ...options, timeoutMs: 90_000 }),
    );
  } catch (err) {
    if (!(err instanceof DomainError) || err.kind !== "precondition") throw err;
    context.error(err.message, String(err.fields["hint"] ?? ""));
    return NOT_STARTED;
  }
  const isPlaced = (session: GetSessionResponse) => bead === undefined || session.status !== SessionStatus.STARTING;
  const session = await sessionNow(bridge, sessionId, isPlaced, context);
  const { out, error } = context;
  if (json) out.line(PrintableText.json(sessionJson(session)));
  if (hasFailed(session)) {
    if (!json) error(`session ${sessionId} could not be started: ${session.error || "no reason was given"}`, "");
    return NOT_STARTED;
  }
  const { sidecarHost: host, sidecarPort: port } = session;
  await record?.write({ server, sessionId, ...(host !== "" && { sidecar: { host, port } }) }, context.signal);
  if (quiet) out.line(printable`${sessionId}`);
  else if (!json) {
    out.line(
      printable`${out.paint("green", "✓")} session ${sessionId}: ${provider} in ${repoPath} at ${server}, ${statusWord(session.status)}`,
    );
  }
  return 0;
}

/**
 * Looks until it is so, for as long as a pod may take; what a bead is to say is known once the session has left its
 * start.
 */
async function sessionNow(
  bridge: OpenBridge,
  sessionId: string,
  isSo: (session: GetSessionResponse) => boolean,
  { clock, signal }: CommandContext,
): Promise<GetSessionResponse> {
  const end = clock.now() + PLACED_MS;
  for (;;) {
    const session = await bridge.call(signal, (client, options) => client.getSession({ sessionId }, options));
    if (isSo(session) || session.sidecarHost !== "" || clock.now() >= end) return session;
    await clock.sleep(LOOK_MS, signal);
  }
}

/** A missing bead is refused before anything is started. */
async function beadToWrite(id: string, place: PlaceConfig, signal: AbortSignal): Promise<SessionBead> {
  const { openBead } = await import("../../../internal/terminal/places/bead-of.ts");
  return await openBead(id, place, signal);
}

function hasFailed({ status }: GetSessionResponse): boolean {
  return status === SessionStatus.FAILED;
}
