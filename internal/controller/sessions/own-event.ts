import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { DomainError } from "../../base/errors.ts";
import type { SessionKey } from "../../bridge/session-backend.ts";
import { type SidecarEvent, SidecarEventSchema } from "../../gen/gastown/v1/sidecar_pb.ts";

/**
 * An event of a session's sidecar, and its bytes. Whose it is, the sidecar does not decide: another session or project
 * in it is replaced by those that the cluster knows.
 * @throws DomainError as `sidecarEvent`
 */
export function ownEvent(
  payload: Uint8Array,
  { id, project }: SessionKey,
): { readonly event: SidecarEvent; readonly payload: Uint8Array } {
  const event = sidecarEvent(payload);
  if (event.sessionId === id && event.projectId === project) return { event, payload };
  [event.sessionId, event.projectId] = [id, project];
  return { event, payload: toBinary(SidecarEventSchema, event) };
}

/** @throws DomainError `unavailable` for what is no event */
export function sidecarEvent(payload: Uint8Array): SidecarEvent {
  try {
    return fromBinary(SidecarEventSchema, payload);
  } catch (cause) {
    throw new DomainError("unavailable", "the session's sidecar sends what is no event", { cause });
  }
}
