import { Counter, Gauge, type Registry } from "prom-client";
import { DomainError } from "../../base/errors.ts";
import type { SessionInfo } from "../session-backend.ts";

/**
 * Metrics of a bridge's sessions; their names begin with `gastown_bridge_`. No label contains text that a caller chose.
 */
export class BridgeMetrics {
  readonly #registers: Registry[];
  readonly #providers: ReadonlySet<string>;
  readonly #starts: Counter<"provider" | "outcome">;

  /** `providers`: those in the configuration. */
  constructor(registry: Registry, providers: readonly string[]) {
    this.#registers = [registry];
    this.#providers = new Set(providers);
    this.#starts = new Counter({
      name: "gastown_bridge_starts_total",
      help: "StartSession calls, by provider and outcome: ok, or the kind of refusal.",
      labelNames: ["provider", "outcome"],
      registers: this.#registers,
    });
  }

  /** Counts a StartSession call; `err`: it failed. */
  started(provider: string, err?: unknown): void {
    const outcome = err === undefined ? "ok" : err instanceof DomainError ? err.kind : "internal";
    this.#starts.inc({ provider: this.#providers.has(provider) ? provider : "unknown", outcome });
  }

  /** Exports the sessions that are kept; `sessions` is called at each scrape. */
  observe(sessions: () => readonly Pick<SessionInfo, "provider" | "status">[]): void {
    new Gauge({
      name: "gastown_bridge_sessions",
      help: "Sessions that are kept, by provider and status.",
      labelNames: ["provider", "status"],
      registers: this.#registers,
      collect() {
        this.reset();
        for (const { provider, status } of sessions()) this.inc({ provider, status });
      },
    });
  }
}
