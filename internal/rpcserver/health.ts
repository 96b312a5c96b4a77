import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { DomainError } from "../base/errors.ts";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../gen/grpc/health/v1/health_pb.ts";
import type { Routes } from "./adapter.ts";

/**
 * Whether a process, and each service in it, can do its work. The name "" is the process as a whole. Once shut down it
 * stays NOT_SERVING whatever is set later.
 */
export class HealthState {
  readonly #serving = new Map<string, boolean>([["", false]]);
  readonly #listeners = new Set<() => void>();
  #shutDown = false;

  set(service: string, serving: boolean): void {
    const now = serving && !this.#shutDown;
    if (this.#serving.get(service) === now) return;
    this.#serving.set(service, now);
    for (const listener of this.#listeners) listener();
  }

  /** Undefined: no such service. */
  get(service: string): boolean | undefined {
    return this.#serving.get(service);
  }

  services(): ReadonlyMap<string, boolean> {
    return this.#serving;
  }

  shutDown(): void {
    this.#shutDown = true;
    for (const service of this.#serving.keys()) this.set(service, false);
  }

  /** Resolves at the next change of anything; rejects with the signal's reason. */
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
        // Looked at again before waiting: it may have changed while the answer was written.
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
