import { DomainError, errorText } from "../../base/errors.ts";
import { type BeadLookup, lookUpBead } from "../../beads/bead.ts";
import { writeBead } from "../../beads/write-bead.ts";
import type { CommandContext } from "../../cli/command/command-context.ts";
import { parseAgentAddress } from "../finding/address.ts";
import { beadIds } from "../finding/bead-id.ts";
import { beadsHere, townOf } from "./agents-here.ts";
import type { PlaceConfig } from "./place-config.ts";

/** A bead that exists, into which the place of a session is written. */
export interface SessionBead {
  /** @throws DomainError `precondition` when `bd` fails; the session continues */
  write(session: SessionPlace, signal: AbortSignal): Promise<void>;
}

/** The place of a session that a control plane has started. */
interface SessionPlace {
  readonly server: string;
  readonly sessionId: string;
  /** For a session in a pod. */
  readonly sidecar?: { readonly host: string; readonly port: number } | undefined;
}

/** The content of the bead of an agent, or of the bead with that id. */
export async function beadOf(asked: string, config: PlaceConfig, signal: AbortSignal): Promise<BeadLookup> {
  const town = await townOf(config);
  const address = parseAgentAddress(asked);
  const known = beadIds(address, town);
  const ids = known.length === 0 && address.type === "bare" ? [address.name] : known;
  return lookUpBead(ids, beadsHere(config, town), signal);
}

/** @throws DomainError `not-found` without such a bead, or without `bd`; `precondition` when `bd` fails */
export async function openBead(id: string, config: PlaceConfig, signal: AbortSignal): Promise<SessionBead> {
  const deps = beadsHere(config, await townOf(config));
  const found = await lookUpBead([id], deps, signal);
  if (found.type === "absent") {
    throw new DomainError("not-found", `there is no bead ${JSON.stringify(id)}`, {
      fields: { hint: "is bd installed, and can it find its database from here?" },
    });
  }
  return {
    async write({ server, sessionId, sidecar }, stop) {
      const session = { bridge_server: server, sidecar_session: sessionId };
      const metadata =
        sidecar === undefined
          ? { ...session, backend: "bridge" }
          : { ...session, backend: "k8s", sidecar_host: sidecar.host, sidecar_port: String(sidecar.port) };
      try {
        await writeBead(id, metadata, deps, stop);
      } catch (err) {
        throw new DomainError("precondition", errorText(err), { fields: { hint: `session ${sessionId} was started` } });
      }
    },
  };
}

/** Removes the place of its session from a bead; a failure is reported as a note. */
export async function clearBead(id: string, config: PlaceConfig, context: CommandContext): Promise<void> {
  try {
    await writeBead(id, {}, beadsHere(config, await townOf(config)), context.signal);
  } catch (err) {
    if (!(err instanceof DomainError) || err.kind === "cancelled") throw err;
    context.note(err.message);
  }
}
