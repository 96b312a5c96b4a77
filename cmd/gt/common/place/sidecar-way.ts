import { DomainError } from "../../../../internal/base/errors.ts";
import { isLoopbackAddress } from "../../../../internal/base/loopback.ts";
import { authorityOf, type Place } from "../../../../internal/terminal/finding/resolve-place.ts";
import type { PlaceConfig } from "./place-config.ts";

export type SidecarPlace = Place & { readonly type: "sidecar" };

/**
 * Whether a sidecar may be talked to the way that flags and finding lead to.
 * @throws DomainError `unauthenticated` when it serves TLS and no certificate was given; `denied` for plaintext to a
 * machine that only a bead names, or a pod; `invalid` for a token in plaintext
 */
export function checkWay(place: SidecarPlace, config: PlaceConfig, hasTls: boolean): void {
  if (hasTls) return;
  const authority = authorityOf(place);
  if (place.source === "bead" && !config.insecure) refuseNetworkPlaintext(place.host, authority);
  if (place.tls === false && place.pod !== undefined && !config.insecure) refusePlaintextPod(authority);
  if (place.tls === true) {
    throw new DomainError("unauthenticated", `${authority} wants a certificate`, {
      fields: { hint: "give --tls-dir, or --ca, --cert and --key" },
    });
  }
  if (config.token?.type === "signed") {
    throw new DomainError("invalid", `${authority} is reached in plaintext, and a token is sent over TLS only`, {
      fields: { hint: "give --tls-dir, or --ca, --cert and --key" },
    });
  }
}

/** Whoever may write a bead could have a message sent in the clear to any machine. */
function refuseNetworkPlaintext(host: string, authority: string): void {
  if (host === "localhost" || isLoopbackAddress(host)) return;
  throw new DomainError("denied", `will not talk in plaintext to ${authority}, which the agent's bead names`, {
    fields: { hint: "give --tls-dir, or --insecure-plaintext where the network itself keeps strangers out" },
  });
}

/** Who may label a pod could have a message sent to it; the forward itself is encrypted as far as the node. */
function refusePlaintextPod(authority: string): void {
  throw new DomainError("denied", `will not talk in plaintext to ${authority}, whose sidecar serves no TLS`, {
    fields: { hint: "give --insecure-plaintext where the cluster itself keeps strangers out of that namespace" },
  });
}
