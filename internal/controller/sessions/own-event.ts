import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { DomainError } from "../../base/errors.ts";
import type { SessionKey } from "../../bridge/session-backend.ts";
import { type SidecarEvent, SidecarEventSchema } from "../../gen/gastown/v1/sidecar_pb.ts";

/** Whose events they are. */
export interface EventOwner extends SessionKey {
  /** As the session was started; empty: as the sidecar says. */
  readonly provider: string;
}

/**
 * An event of a session's sidecar, and its bytes. Whose it is, the sidecar does not decide: another session, project or
 * provider in it is replaced by those that the cluster knows. A sidecar knows the agent's profile only.
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
  // Of a field that comes twice the last one counts.
  return { event, payload: Buffer.concat([payload, toBinary(SidecarEventSchema, create(SidecarEventSchema, own))]) };
}

/** Without fields that are not known here. @throws DomainError `unavailable` for what is no event */
export function sidecarEvent(payload: Uint8Array): SidecarEvent {
  try {
    return fromBinary(SidecarEventSchema, payload, { readUnknownFields: false });
  } catch (cause) {
    throw new DomainError("unavailable", "the session's sidecar sends what is no event", { cause });
  }
}
