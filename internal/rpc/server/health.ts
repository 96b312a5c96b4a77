import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { DomainError } from "../../base/errors.ts";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.ts";
import type { Routes } from "./adapter.ts";

/** The hindrance of all services once the process shuts down. */
const SHUTTING_DOWN = "shutting down";

/**
 * The health of a process and of each service in it. The name "" is the process as a whole. No service serves while
 * there is a hindrance (a reason for none to serve), nor after `shutDown`, whatever is set later.
 */
export class HealthState {
  readonly #able = new Map<string, boolean>([["", false]]);
  readonly #hindrances = new Set<string>();
  readonly #listeners = new Set<() => void>();

  set(service: string, able: boolean): void {
    if (this.#able.get(service) === able) return;
    this.#able.set(service, able);
    this.#tell();
  }

  /** Adds or removes a hindrance of all services; its text is for probes. */
  hinder(hindrance: string, stands: boolean): void {
    if (this.#hindrances.has(hindrance) === stands) return;
    if (stands) this.#hindrances.add(hindrance);
    else this.#hindrances.delete(hindrance);
    this.#tell();
  }

  /** Undefined: no such service. */
  get(service: string): boolean | undefined {
    const able = this.#able.get(service);
    return able === undefined ? undefined : able && this.#hindrances.size === 0;
  }

  services(): ReadonlyMap<string, boolean> {
    return new Map([...this.#able.keys()].map((service) => [service, this.get(service) === true]));
  }

  /** All current hindrances as text; "": none. */
  get hindrance(): string {
    return [...this.#hindrances].join(", ");
  }

  shutDown(): void {
    this.hinder(SHUTTING_DOWN, true);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Resolves at the next change; rejects with the signal's reason. */
  changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        this.#listeners.delete(onChange);
        signal.removeEventListener("abort", onAbort);
        settle();
      };
      const onChange = () => finish(resolve);
      const onAbort = () => finish(() => reject(signal.reason));
      if (signal.aborted) return reject(signal.reason);
      this.#listeners.add(onChange);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}

/** `grpc.health.v1.Health`: Check, List and Watch of a HealthState. */
export function healthRoutes(health: HealthState): Routes {
  const implementation: ServiceImpl<typeof Health> = {
    check({ service }) {
      const serving = health.get(service);
      if (serving === undefined) throw new DomainError("not-found", `no service ${JSON.stringify(service)}`);
      return { status: statusOf(serving) };
    },
    list() {
      const statuses = [...health.services()].map(([name, serving]) => [name, { status: statusOf(serving) }] as const);
      return { statuses: Object.fromEntries(statuses) };
    },
    async *watch({ service }, { signal }: HandlerContext) {
      let told: boolean | undefined | "nothing" = "nothing";
      for (;;) {
        const now = health.get(service);
        if (now !== told) yield { status: statusOf(now) };
        told = now;
        // Check again before waiting: the state may have changed while the response was written.
        if (health.get(service) === told) await health.changed(signal);
      }
    },
  };
  return (router) => router.service(Health, implementation);
}

function statusOf(serving: boolean | undefined): Status {
  if (serving === undefined) return Status.SERVICE_UNKNOWN;
  return serving ? Status.SERVING : Status.NOT_SERVING;
}
