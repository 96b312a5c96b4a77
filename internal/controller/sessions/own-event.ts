import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { DomainError } from "../../base/errors.ts";
import type { SessionKey } from "../../bridge/session-backend.ts";
import { type SidecarEvent, SidecarEventSchema } from "../../gen/gastown/v1/sidecar_pb.ts";

/** The session that events belong to. */
export interface EventOwner extends SessionKey {
  /** The provider with which the session was started; empty: the one that the sidecar names. */
  readonly provider: string;
}

/**
 * Decodes an event of a session's sidecar. The sidecar does not decide to which session the event belongs: session,
 * project and provider are replaced by those that the cluster knows. (The sidecar's provider is only the agent's
 * profile.)
 * @throws DomainError as `sidecarEvent`
 */
export function ownEvent(
  payload: Uint8Array,
  { id, project, provider: started }: EventOwner,
): { readonly event: SidecarEvent; readonly payload: Uint8Array } {
  const event = sidecarEvent(payload);
  const provider = started || event.provider;
  if (event.sessionId === id && event.projectId === project && event.provider === provider) return { event, payload };
  const own = { sessionId: id, projectId: project, provider };
  Object.assign(event, own);
  // If a field occurs twice, its last value counts.
  return { event, payload: Buffer.concat([payload, toBinary(SidecarEventSchema, create(SidecarEventSchema, own))]) };
}

/** Drops unknown fields. @throws DomainError `unavailable` for bytes that are not an event */
export function sidecarEvent(payload: Uint8Array): SidecarEvent {
  try {
    return fromBinary(SidecarEventSchema, payload, { readUnknownFields: false });
  } catch (cause) {
    throw new DomainError("unavailable", "the session's sidecar sends something that is not an event", { cause });
  }
}
