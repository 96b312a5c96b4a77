import { create } from "@bufbuild/protobuf";
import { withTimeout } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { SidecarLink } from "../../bridge/sidecar-link.ts";
import {
  SidecarService,
  SidecarStatusRequestSchema,
  type SidecarStatusResponse,
} from "../../gen/gastown/v1/sidecar_pb.ts";

const ASK_MS = 3_000;
const CONTROLLER = { identity: "gt-controller" };

/**
 * A sidecar's Status within 3 s. A call that takes longer is ended: one that never answers is asked again and again.
 * @throws DomainError as the call does, `deadline`
 */
export async function sidecarStatus(
  link: Pick<SidecarLink, "unary">,
  clock: Clock,
  signal: AbortSignal,
): Promise<SidecarStatusResponse> {
  const left = new AbortController();
  const request = create(SidecarStatusRequestSchema);
  const either = AbortSignal.any([signal, left.signal]);
  try {
    const call = link.unary(SidecarService.method.status, request, CONTROLLER, either);
    return await withTimeout(clock, ASK_MS, "Status", call);
  } finally {
    left.abort(new DomainError("cancelled", "nobody waits for the sidecar's status"));
  }
}
