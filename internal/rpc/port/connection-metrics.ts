import { Counter, Gauge, type Registry } from "prom-client";
import type { ConnectionFault } from "./listener.ts";

/** Metrics of one server's connections. */
export class ConnectionMetrics {
  readonly #registers: Registry[];
  readonly #faults: Counter<"reason">;

  constructor(registry: Registry) {
    this.#registers = [registry];
    this.#faults = new Counter({
      name: "gastown_connections_refused_total",
      help: "Connections that ended before their first request: limit, half-open (closed for newer ones), handshake.",
      labelNames: ["reason"],
      registers: this.#registers,
    });
  }

  fault(reason: ConnectionFault): void {
    this.#faults.inc({ reason });
  }

  observe(open: () => number): void {
    new Gauge({
      name: "gastown_connections_open",
      help: "Connections to the RPC port, including those before their handshake.",
      registers: this.#registers,
      collect() {
        this.set(open());
      },
    });
  }
}
