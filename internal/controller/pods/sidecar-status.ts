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
/** The caller that the controller names in its own calls to sidecars. */
export const CONTROLLER_CALLER = { identity: "gt-controller" };

/**
 * Reads a sidecar's Status within 3 s. A slower call is cancelled, so that calls to a sidecar that never answers do not
 * pile up.
 * @throws DomainError `deadline`; `unavailable` if the sidecar fails; otherwise as `link.unary`
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
      link.unary(SidecarService.method.status, request, CONTROLLER_CALLER, either),
    );
  } catch (err) {
    throw isSidecarFault(err) ? new DomainError("unavailable", "the session's sidecar failed", { cause: err }) : err;
  }
}

/** True if the sidecar answered with an internal error, or with something that its service does not define. */
export function isSidecarFault(err: unknown): boolean {
  return err instanceof ConnectError;
}
