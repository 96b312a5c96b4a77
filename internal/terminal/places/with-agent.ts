import { DomainError } from "../../base/errors.ts";
import type { CommandContext } from "../../cli/command/command-context.ts";
import type { Backend } from "../backend.ts";
import type { ListedSession } from "../finding/choose-bridge-session.ts";
import type { AgentQuery, Place } from "../finding/resolve-place.ts";
import { resolveBackend } from "../resolve.ts";
import { agentsHere } from "./agents-here.ts";
import { compareAgent } from "./compare-agent.ts";
import { gtLine } from "./gt-line.ts";
import type { OpenBridge } from "./open-bridge.ts";
import { isControlPlane, type PlaceConfig } from "./place-config.ts";

/** An agent that was found, and the way to it. */
export interface FoundAgent {
  /** The agent's address if it is known, otherwise the address or id at which it was found; never empty. */
  readonly agent: string;
  readonly place: Place | BridgePlace;
  readonly backend: Backend;
  /** A call of `gt` for the same agent, with the flags that lead to it; for hints. */
  readonly line: (command: string, ...words: readonly string[]) => string;
}

/** A session that a control plane runs. */
interface BridgePlace {
  readonly type: "bridge";
  readonly sessionId: string;
  readonly muted: boolean;
  /** The bead that named the session. */
  readonly bead?: string | undefined;
}

type SidecarPlace = Place & { readonly type: "sidecar" };

/**
 * Finds one agent, makes sure that it is the one that answers, and passes it to `use`; its connections are closed
 * afterwards. A sidecar that a bead names is asked for its identity first; one at `--host` and `--port` is asked while
 * `use` runs, and a note is printed if it may be another agent.
 * @throws as `resolveBackend` and `use`; DomainError `denied` when another agent's sidecar answers
 */
export async function withAgent<T>(
  config: PlaceConfig,
  agent: string,
  context: CommandContext,
  use: (found: FoundAgent) => Promise<T>,
): Promise<T> {
  if (isControlPlane(config)) return await withSession(config, agent, context, use);
  const deps = await agentsHere(config, context);
  const { place, backend } = await resolveBackend(agentQuery(config, agent), deps, context.signal);
  await using _closed = backend;
  const name = place.agent === "" ? backend.where : place.agent;
  const line = (command: string, ...words: readonly string[]) => gtLine([command, agent, ...words], config);
  const found = { agent: name, place, backend, line };
  if (place.type !== "sidecar" || place.source === "this machine") return await use(found);
  const identity = compare(place, backend, context.signal);
  const mismatch = async (err: unknown) => {
    if (place.pod !== undefined) return undefined; // the pod's spec says whether its sidecar serves TLS
    const { tlsMismatch } = await import("../trust/tls-mismatch.ts");
    return await tlsMismatch(err, place, Object.keys(config.tls).length > 0);
  };
  try {
    if (mayBeWrongAgent(place)) await identity;
    const note = await besideIdentity(identity, use(found), mismatch);
    if (note.text !== undefined) context.note(note.text);
    return note.result;
  } catch (err) {
    const known = await mismatch(err);
    // The call may have failed because another agent's sidecar answered, which knows neither this nudge nor this
    // dialog.
    const text = known === undefined ? await identity.catch(() => undefined) : undefined;
    if (text !== undefined) context.note(text);
    throw known ?? err;
  }
}

/** Like `withAgent`, for an agent that a control plane knows, by its session's id or its address. */
async function withSession<T>(
  config: PlaceConfig,
  asked: string,
  context: CommandContext,
  use: (found: FoundAgent) => Promise<T>,
): Promise<T> {
  const { openBridge } = await import("./open-bridge.ts");
  using bridge = await openBridge(config, context.clock);
  const { id, agent, muted = false, bead } = await sessionOf(bridge, asked, config, context.signal);
  await using backend = bridge.backend(id);
  const line = (command: string, ...words: readonly string[]) => gtLine([command, asked, ...words], config);
  const place = { type: "bridge", sessionId: id, muted, bead } as const;
  return await use({ agent: agent || id, place, backend, line });
}

/**
 * The session that the control plane itself finds, otherwise the one that the agent's bead names.
 * @throws as `OpenBridge.find`
 */
async function sessionOf(
  bridge: OpenBridge,
  asked: string,
  config: PlaceConfig,
  signal: AbortSignal,
): Promise<Pick<ListedSession, "id" | "agent"> & { readonly muted?: boolean; readonly bead?: string | undefined }> {
  try {
    return await bridge.find(asked, signal);
  } catch (err) {
    if (!(err instanceof DomainError) || err.kind !== "not-found") throw err;
    const { beadOf } = await import("./bead-of.ts");
    const bead = await beadOf(asked, config, signal);
    if ((bead.type !== "bridge" && bead.type !== "k8s") || bead.server !== bridge.server) throw err;
    if (bead.session === undefined) throw err;
    return { id: bead.session, agent: asked, muted: bead.muted, bead: bead.id };
  }
}

/**
 * Whether another agent than the requested one may answer, so that it is asked first. An address that was given by flag
 * is trusted, unless the agent's full address can contradict it.
 */
function mayBeWrongAgent(place: SidecarPlace): boolean {
  return place.source === "bead" || place.source === "cluster" || place.agent.includes("/");
}

/** The note if another agent may have answered. @throws DomainError `denied` when it certainly is another agent */
async function compare(place: SidecarPlace, backend: Backend, signal: AbortSignal): Promise<string | undefined> {
  const answer = await (backend.identity?.(signal) ?? backend.status(signal));
  const comparison = compareAgent(place, answer);
  switch (comparison.type) {
    case "same":
      return undefined;
    case "unclear":
      return comparison.message;
    case "another":
      throw new DomainError("denied", comparison.message, {
        fields: { hint: "nothing was sent; correct the agent's bead, or the given address" },
      });
  }
}

/** Waits for the work, but fails at once if the identity cannot be asked for, because only one side speaks TLS. */
async function besideIdentity<T>(
  identity: Promise<string | undefined>,
  work: Promise<T>,
  mismatch: (err: unknown) => Promise<DomainError | undefined>,
): Promise<{ readonly result: T; readonly text: string | undefined }> {
  const failed = new Promise<never>((_, reject) => {
    identity.catch(async (err) => {
      const known = await mismatch(err).catch(() => undefined);
      if (known !== undefined) reject(known);
    });
  });
  work.catch(() => {}); // when `failed` comes first
  const result = await Promise.race([work, failed]);
  return { result, text: await identity.catch(() => undefined) };
}

function agentQuery(config: PlaceConfig, agent: string): AgentQuery {
  const { host, port, localOnly } = config;
  return { agent, localOnly, host, port };
}
