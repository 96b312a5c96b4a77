import type { KubeApi, KubeRequest } from "./kube-api.ts";
import { type LeaseRecord, leaseRecord } from "./lease-record.ts";

export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
  /** Labels that each write sets. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** Reads and writes one Lease on a connection that no other call blocks. Errors are those of `KubeApi.call`. */
export class LeaseClient {
  readonly #api: KubeApi;
  readonly #at: LeaseName;
  readonly #timeoutMs: number;

  constructor(api: KubeApi, at: LeaseName, timeoutMs: number) {
    this.#api = api;
    this.#at = at;
    this.#timeoutMs = timeoutMs;
  }

  async read(signal: AbortSignal): Promise<LeaseRecord> {
    return leaseRecord(await this.#call({ method: "GET", path: this.#path() }, signal));
  }

  async create(record: LeaseRecord, signal: AbortSignal): Promise<LeaseRecord> {
    const { namespace } = this.#at;
    const path = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
    return leaseRecord(await this.#call({ method: "POST", path, body: this.#body(record) }, signal));
  }

  /** Writes only if the Lease still has `record.resourceVersion`. */
  async update(record: LeaseRecord, signal: AbortSignal): Promise<LeaseRecord> {
    return leaseRecord(await this.#call({ method: "PUT", path: this.#path(), body: this.#body(record) }, signal));
  }

  #call(request: KubeRequest, signal: AbortSignal): Promise<unknown> {
    return this.#api.call({ ...request, lane: "urgent", timeoutMs: this.#timeoutMs }, signal);
  }

  #path(): string {
    const { namespace, name } = this.#at;
    const [escaped, last] = [encodeURIComponent(namespace), encodeURIComponent(name)];
    return `/apis/coordination.k8s.io/v1/namespaces/${escaped}/leases/${last}`;
  }

  #body(record: LeaseRecord) {
    return {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { ...this.#at, resourceVersion: record.resourceVersion || undefined },
      spec: {
        holderIdentity: record.holder,
        leaseDurationSeconds: Math.max(1, Math.round(record.durationMs / 1_000)),
        acquireTime: record.acquireTime,
        renewTime: record.renewTime,
        leaseTransitions: record.transitions,
      },
    };
  }
}
