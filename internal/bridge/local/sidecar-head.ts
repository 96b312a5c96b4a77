import { create } from "@bufbuild/protobuf";
import { withTimeout } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { SidecarService, SidecarStreamEventsRequestSchema } from "../../gen/gastown/v1/sidecar_pb.ts";
import type { Actor, SessionTerminal } from "../session-backend.ts";

/** A number that no event has: a sidecar that is asked for events after it refuses, and names its last event. */
const NO_SEQ = 2n ** 64n - 1n;
const BRIDGE: Actor = { identity: "bridge", role: "read" };

/** The number of a session's last event; undefined: its sidecar does not answer within `ms`. */
export async function headAtSidecar(clock: Clock, terminal: SessionTerminal, ms: number): Promise<bigint | undefined> {
  const stop = new AbortController();
  const asked = refusalOf(terminal, stop.signal);
  asked.catch(() => {});
  try {
    const refusal = await withTimeout(clock, ms, "the head of a session's events", asked);
    return refusal === undefined ? undefined : BigInt(refusal);
  } catch {
    return undefined;
  } finally {
    stop.abort();
  }
}

/** The head that the refusal names; undefined: the sidecar does not refuse. */
async function refusalOf(terminal: SessionTerminal, signal: AbortSignal): Promise<string | undefined> {
  const request = create(SidecarStreamEventsRequestSchema, { afterSeq: NO_SEQ });
  try {
    for await (const _ of terminal.stream(SidecarService.method.streamEvents, request, BRIDGE, signal)) break;
    return undefined;
  } catch (err) {
    if (!(err instanceof DomainError) || err.kind !== "precondition") throw err;
    const head = err.fields["head"];
    return typeof head === "string" ? head : undefined;
  }
}
