import type { Clock } from "../../internal/base/clock.ts";
import { errorText } from "../../internal/base/errors.ts";
import type { Logger } from "../../internal/base/logger.ts";
import type { Task } from "../../internal/base/task-group.ts";
import type { RelayMetrics } from "../../internal/relay/lanes/relay-metrics.ts";
import type { Bus } from "../../internal/relay/nats/bus.ts";
import { type Created, ensureStreams } from "../../internal/relay/nats/ensure-streams.ts";
import type { HealthState } from "../../internal/rpc/server/health.ts";

export interface StreamsWatchDeps {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly health: HealthState;
  readonly metrics: RelayMetrics;
  /** Called when the server is back without its stored data and the streams exist again. */
  readonly onStoreLost: () => void;
}

const AGAIN_MS = 500;

/** Reports the connection's state as readiness, and creates the streams again if the server has lost its store. */
export class StreamsWatch implements Task {
  readonly #deps: StreamsWatchDeps;
  readonly #replicas: number;
  #created: Created;
  #reconnects = 0;

  constructor(deps: StreamsWatchDeps, { created, replicas }: { readonly created: Created; readonly replicas: number }) {
    this.#deps = deps;
    this.#created = created;
    this.#replicas = replicas;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { bus, clock, health, metrics } = this.#deps;
    while (!signal.aborted) {
      const isNew = bus.isConnected && bus.reconnects > this.#reconnects;
      health.hinder("NATS is away", !bus.isConnected || isNew);
      health.hinder("NATS refuses an operation of the relay", bus.isRefused);
      try {
        if (!isNew) {
          await bus.changes.next(signal);
          continue;
        }
        const { reconnects } = bus;
        await this.#check();
        metrics.natsReconnects.inc(reconnects - this.#reconnects);
        this.#reconnects = reconnects;
      } catch (err) {
        if (signal.aborted) return;
        this.#deps.logger.warn({ action: "streams_unknown", err: errorText(err) }, "the streams cannot be looked at");
        await clock.sleep(AGAIN_MS, signal).catch(() => {});
      }
    }
  }

  async #check(): Promise<void> {
    const { bus, logger } = this.#deps;
    const created = await ensureStreams(bus.jsm, bus.streams, this.#replicas);
    const lost = [...created].filter(([name, time]) => this.#created.get(name) !== time).map(([name]) => name);
    this.#created = created;
    if (lost.length === 0) return;
    logger.error({ action: "store_lost", streams: lost }, "NATS is back without its stored data");
    this.#deps.onStoreLost();
  }
}
