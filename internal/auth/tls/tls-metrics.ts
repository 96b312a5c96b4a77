import { Counter, Gauge, type Registry } from "prom-client";
import type { CheckedTls, TlsFault } from "../../pki/tls-files.ts";

/** Metrics of one TLS folder; their names begin with `gastown_tls_`. */
export class TlsMetrics {
  readonly #registers: Registry[];
  readonly #reloads: Counter;
  readonly #failures: Counter<"reason">;

  constructor(registry: Registry) {
    this.#registers = [registry];
    const registers = this.#registers;
    this.#reloads = new Counter({
      name: "gastown_tls_reloads_total",
      help: "Sets of certificate, key, CA and revocation lists that were put into use.",
      registers,
    });
    this.#failures = new Counter({
      name: "gastown_tls_reload_failures_total",
      help: "Sets that were refused, by reason; the previous set stays in use.",
      labelNames: ["reason"],
      registers,
    });
  }

  loaded(): void {
    this.#reloads.inc();
  }

  refused(reason: TlsFault): void {
    this.#failures.inc({ reason });
  }

  /** Exports when the certificate and the revocation lists in use expire; `current` is called at each scrape. */
  observe(current: () => CheckedTls | undefined): void {
    this.#gauge(
      "gastown_tls_certificate_expiry_timestamp_seconds",
      "When the certificate in use, or a CA above it, expires (Unix time); 0 without one.",
      () => current()?.notAfter ?? 0,
    );
    this.#gauge(
      "gastown_tls_crl_next_update_timestamp_seconds",
      "When the first revocation list in use is due to be replaced (Unix time); 0 without one.",
      () => current()?.listsDue ?? 0,
    );
  }

  #gauge(name: string, help: string, ms: () => number): void {
    new Gauge({
      name,
      help,
      registers: this.#registers,
      collect() {
        this.set(ms() / 1000);
      },
    });
  }
}
