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
/** The caller under which the controller calls sidecars. */
export const CONTROLLER = { identity: "gt-controller" };

/**
 * Reads a sidecar's Status within 3 s. A slower call is cancelled, since a sidecar that never answers is asked
 * repeatedly.
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

/** The sidecar answered with an internal error, or not as its service should. */
export function isSidecarsFault(err: unknown): boolean {
  return err instanceof ConnectError;
}
