import { DomainError } from "../../base/errors.ts";
import { isLoopbackHost } from "../../base/loopback.ts";
import { type Place, placeAuthority } from "../finding/resolve-place.ts";
import type { Expected } from "../trust/tls-files.ts";
import type { PlaceConfig } from "./place-config.ts";

export type SidecarPlace = Place & { readonly type: "sidecar" };

/** The session whose sidecar must answer at this place. */
export function expectedAt({ session, pod, source, agent }: SidecarPlace): Expected {
  return { session, namespace: pod?.namespace, named: source === "flags" ? agent : undefined };
}

/**
 * Refuses to call a sidecar in plaintext where that is unsafe or cannot work.
 * @throws DomainError `unauthenticated` if the sidecar serves TLS and no certificate was given; `denied` for a machine
 * or pod that only a bead or a label names, unless `--insecure-plaintext` is given; `invalid` for a token to be signed
 */
export function checkWay(place: SidecarPlace, config: PlaceConfig, hasTls: boolean): void {
  if (hasTls) return;
  const authority = placeAuthority(place);
  if (place.source === "bead" && !config.insecure) refuseNetworkPlaintext(place.host, authority);
  if (place.tls === false && place.pod !== undefined && !config.insecure) refusePlaintextPod(authority);
  if (place.tls === true) {
    throw new DomainError("unauthenticated", `${authority} requires a certificate`, {
      fields: { hint: "give --tls-dir, or --ca, --cert and --key" },
    });
  }
  if (config.token?.type === "signed") {
    throw new DomainError("invalid", `${authority} is reached in plaintext, and gt sends tokens only over TLS`, {
      fields: { hint: "give --tls-dir, or --ca, --cert and --key" },
    });
  }
}

/** A user who may write a bead could otherwise have a message sent in plaintext to any machine. */
function refuseNetworkPlaintext(host: string, authority: string): void {
  if (isLoopbackHost(host)) return;
  throw new DomainError("denied", `will not use plaintext to reach ${authority}, the address in the agent's bead`, {
    fields: { hint: "give --tls-dir, or --insecure-plaintext if the network itself keeps strangers out" },
  });
}

/**
 * Anyone who may label a pod could otherwise have a message sent to it. A port forward is encrypted only as far as the
 * node.
 */
function refusePlaintextPod(authority: string): void {
  throw new DomainError("denied", `will not use plaintext to reach ${authority}, whose sidecar does not serve TLS`, {
    fields: { hint: "give --insecure-plaintext if the cluster itself keeps strangers out of that namespace" },
  });
}
