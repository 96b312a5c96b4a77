import { DomainError } from "../../base/errors.ts";
import type { KubeApi } from "../../kube/kube-api.ts";
import { isFault } from "../../kube/kube-errors.ts";
import { ANNOTATIONS, CERTIFICATE_GATE } from "../pods/names.ts";
import type { PodNote, PodNotes } from "./secret-store.ts";

/** Annotates pods through the Kubernetes API. */
export class PodNotesClient implements PodNotes {
  readonly #api: KubeApi;

  constructor(api: KubeApi) {
    this.#api = api;
  }

  async announce(
    pod: { readonly namespace: string; readonly name: string; readonly uid: string },
    { serial, tlsHash }: PodNote,
    signal: AbortSignal,
  ): Promise<void> {
    const annotations = { [ANNOTATIONS.certSerial]: serial, [ANNOTATIONS.tlsHash]: tlsHash };
    // The uid is a precondition: for another pod of that name, the API server refuses the patch as invalid.
    const body = {
      metadata: { uid: pod.uid, annotations },
      spec: { schedulingGates: [{ $patch: "delete", name: CERTIFICATE_GATE }] },
    };
    const path = `/api/v1/namespaces/${encodeURIComponent(pod.namespace)}/pods/${encodeURIComponent(pod.name)}`;
    const request = { method: "PATCH", path, contentType: "application/strategic-merge-patch+json", body } as const;
    try {
      await this.#api.call(request, signal);
    } catch (err) {
      if (!isFault(err, "invalid") || !err.message.includes("metadata.uid")) throw err;
      throw new DomainError("precondition", `pod ${pod.name} was replaced by another one of its name`, { cause: err });
    }
  }
}
