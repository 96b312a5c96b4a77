import { DomainError } from "../../base/errors.ts";
import { isLoopbackHost } from "../../base/loopback.ts";
import { type Place, placeAuthority } from "../finding/resolve-place.ts";
import type { Expected } from "../trust/tls-files.ts";
import type { PlaceConfig } from "./place-config.ts";

export type SidecarPlace = Place & { readonly type: "sidecar" };

/** The session whose sidecar is to answer there. */
export function expectedAt({ session, pod, source, agent }: SidecarPlace): Expected {
  return { session, namespace: pod?.namespace, named: source === "flags" ? agent : undefined };
}

/**
 * Whether a sidecar may be talked to the way that flags and finding lead to.
 * @throws DomainError `unauthenticated` when it serves TLS and no certificate was given; `denied` for plaintext to a
 * machine that only a bead names, or a pod; `invalid` for a token in plaintext
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
 * Anyone who may label a pod could have a message sent to it; the forward itself is encrypted only as far as the node.
 */
function refusePlaintextPod(authority: string): void {
  throw new DomainError("denied", `will not use plaintext to reach ${authority}, whose sidecar does not serve TLS`, {
    fields: { hint: "give --insecure-plaintext if the cluster itself keeps strangers out of that namespace" },
  });
}
