import { Counter, Gauge, type Registry } from "prom-client";
import { DomainError } from "../../base/errors.ts";
import type { SessionInfo } from "../session-backend.ts";

/**
 * Numbers about the sessions of a bridge; the names begin with `gastown_bridge_`. Labels hold nothing that a caller
 * chose.
 */
export class BridgeMetrics {
  readonly #registers: Registry[];
  readonly #providers: ReadonlySet<string>;
  readonly #starts: Counter<"provider" | "outcome">;

  /** `providers`: those of the configuration. */
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

  /** A start was answered; `err`: it was refused. */
  started(provider: string, err?: unknown): void {
    const outcome = err === undefined ? "ok" : err instanceof DomainError ? err.kind : "internal";
    this.#starts.inc({ provider: this.#providers.has(provider) ? provider : "unknown", outcome });
  }

  /** The sessions that are kept; read at each scrape. */
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
