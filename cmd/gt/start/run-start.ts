import { randomUUID } from "node:crypto";
import { DomainError } from "../../../internal/base/errors.ts";
import { PrintableText, printable } from "../../../internal/base/printable-text.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import { durationText } from "../../../internal/cli/wording.ts";
import { type GetSessionResponse, SessionStatus } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import type { SessionBead } from "../../../internal/terminal/places/bead-of.ts";
import { type OpenBridge, openBridge } from "../../../internal/terminal/places/open-bridge.ts";
import { type PlaceConfig, readPlace } from "../../../internal/terminal/places/place-config.ts";
import { sessionJson, statusWord } from "../common/text/session-text.ts";
import type { StartFlags } from "./start-flags.ts";
import { readStart, type StartOptions } from "./start-options.ts";
import { type Readiness, untilReady } from "./until-ready.ts";

const NOT_STARTED = 6;
const NOT_YET = 5;
const PLACED_MS = 90_000;
const LOOK_MS = 250;

export async function runStart(given: Given<StartFlags>, context: CommandContext): Promise<number> {
  const place = readPlace(given.values, context.env);
  const start = readStart(given, place.cwd);
  const { provider, path: repoPath, agentOpts, bead, waitMs, ...asked } = start;
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
  if (!hasFailed(session)) {
    const { sidecarHost: host, sidecarPort: port } = session;
    await record?.write({ server, sessionId, sidecar: host === "" ? undefined : { host, port } }, context.signal);
  }
  const readiness =
    waitMs === undefined || hasFailed(session)
      ? ({ type: hasFailed(session) ? "ended" : "ready", session } as const)
      : await readinessOf(bridge, sessionId, waitMs, context);
  return tell(readiness, server, start, context);
}

/** Interrupting the wait leaves the session running. */
async function readinessOf(
  bridge: OpenBridge,
  sessionId: string,
  timeoutMs: number,
  { clock, signal, note }: CommandContext,
): Promise<Readiness> {
  await using backend = bridge.backend(sessionId);
  const look = (either: AbortSignal) =>
    bridge.call(either, (client, options) => client.getSession({ sessionId }, options));
  try {
    const status = (either: AbortSignal) => backend.status(either);
    return await untilReady({ look, status }, { clock, timeoutMs }, signal);
  } catch (err) {
    note(`session ${sessionId} was started and continues; gt stop ${sessionId} ends it`);
    throw err;
  }
}

function tell(
  { type, session }: Readiness,
  server: string,
  { provider, path, waitMs, quiet, json }: StartOptions,
  { out, error, note }: CommandContext,
): number {
  const { sessionId, status, error: why } = session;
  if (json) out.line(PrintableText.json(sessionJson(session)));
  else if (quiet && type !== "ended") out.line(printable`${sessionId}`);
  if (type === "ended") {
    const [said, kept] = [why || "no reason was given", `it is kept; gt stop ${sessionId} removes it`];
    const text = hasFailed(session) ? `could not be started: ${said}` : "ended before it took a message";
    if (!json) error(`session ${sessionId} ${text}`, hasFailed(session) && session.reason !== "" ? kept : "");
    return NOT_STARTED;
  }
  if (type === "late") {
    const text = `session ${sessionId} takes no messages after ${durationText(waitMs ?? 0)}${why && `: ${why}`}`;
    error(text, `it continues: gt wait ${sessionId} --for idle waits longer, gt stop ${sessionId} ends it`);
    return NOT_YET;
  }
  if (type === "dialog") note(`the agent asks something first: gt respond ${sessionId} shows it`);
  if (quiet || json) return 0;
  const what = printable`session ${sessionId}: ${provider} in ${path} at ${server}, ${statusWord(status)}`;
  out.line(printable`${out.paint("green", "✓")} ${what}`);
  return 0;
}

/**
 * Polls until `isSo`, or until the sidecar's address is known, which a bead contains; at most for the time in which a
 * pod starts.
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
