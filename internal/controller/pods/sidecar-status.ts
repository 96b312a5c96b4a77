import { create } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { timedCall } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { SidecarLink } from "../../bridge/sidecar-link.ts";
import {
  SidecarService,
  SidecarStatusRequestSchema,
  type SidecarStatusResponse,
} from "../../gen/gastown/v1/sidecar_pb.ts";

const ASK_MS = 3_000;
/** Whose calls they are at a sidecar. */
export const CONTROLLER = { identity: "gt-controller" };

/**
 * A sidecar's Status within 3 s. A call that takes longer is ended: one that never answers is asked again and again.
 * @throws DomainError as the call does, `deadline`
 */
export async function sidecarStatus(
  link: Pick<SidecarLink, "unary">,
  clock: Clock,
  signal: AbortSignal,
): Promise<SidecarStatusResponse> {
  const request = create(SidecarStatusRequestSchema);
  const limit = { ms: ASK_MS, what: "Status" };
  try {
    return await timedCall(clock, limit, signal, (either) =>
      link.unary(SidecarService.method.status, request, CONTROLLER, either),
    );
  } catch (err) {
    throw isSidecarsFault(err) ? new DomainError("unavailable", "the session's sidecar fails", { cause: err }) : err;
  }
}

/** A sidecar answers what is an error of its own, or no answer of its service. */
export function isSidecarsFault(err: unknown): boolean {
  return err instanceof ConnectError;
}
