import { Counter, Gauge, Histogram, type Registry } from "prom-client";

const PREFIX = "gastown_relay_";
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600];
const CONNECTION_SECONDS = [1, 10, 60, 300, 900, 3600, 14_400, 86_400];

/** Sizes that are read at each scrape. */
export interface RelaySizes {
  readonly turnsOpen: () => number;
  readonly lanesHeld: () => number;
  readonly outboxMessages: () => number;
  readonly outboxBytes: () => number;
  readonly natsConnected: () => boolean;
}

/** The relay's metrics. No label has a value that a caller chooses, except roles, which the configuration names. */
export class RelayMetrics {
  readonly connections: Gauge<"dialect" | "role">;
  readonly connectionSeconds: Histogram;
  readonly latency: Histogram<"hop">;
  readonly connectionsTotal: Counter<"outcome">;
  readonly disconnects: Counter<"reason">;
  readonly messages: Counter<"direction" | "dialect" | "kind">;
  readonly messageBytes: Counter;
  readonly translationErrors: Counter<"dialect" | "reason">;
  readonly turns: Counter<"link" | "outcome">;
  readonly claims: Counter<"outcome">;
  readonly fenced: Counter;
  readonly redeliveries: Counter;
  readonly duplicates: Counter<"where">;
  readonly uncertain: Counter;
  readonly deadLetters: Counter<"reason">;
  readonly permissions: Counter<"outcome">;
  readonly progressGaps: Counter;
  readonly slowReaders: Counter;
  readonly natsReconnects: Counter;
  readonly #registers: Registry[];

  constructor(registry: Registry) {
    this.#registers = [registry];
    const common = (name: string, help: string) => ({ name: `${PREFIX}${name}`, help, registers: this.#registers });
    const counter = <L extends string = never>(name: string, help: string, labelNames: L[] = []) =>
      new Counter<L>({ ...common(`${name}_total`, help), labelNames });
    this.connections = new Gauge({
      ...common("connections", "Open connections of agents and editors."),
      labelNames: ["dialect", "role"],
    });
    this.connectionSeconds = new Histogram({
      ...common("connection_duration_seconds", "Duration of agents' connections."),
      buckets: CONNECTION_SECONDS,
    });
    this.latency = new Histogram({
      ...common("message_latency_seconds", "Duration of whole turns, and time from an answer to its stored result."),
      labelNames: ["hop"],
      buckets: SECONDS,
    });
    this.connectionsTotal = counter("connections", "Attempts to connect, by outcome.", ["outcome"]);
    this.disconnects = counter("disconnects", "Connections that ended, by reason.", ["reason"]);
    this.messages = counter("messages", "Messages.", ["direction", "dialect", "kind"]);
    this.messageBytes = counter("message_bytes", "Bytes of messages.");
    this.translationErrors = counter("translation_errors", "Messages that could not be read.", ["dialect", "reason"]);
    this.turns = counter("turns", "Turns that ended, by outcome.", ["link", "outcome"]);
    this.claims = counter("claims", "Requested lanes, by outcome.", ["outcome"]);
    this.fenced = counter("fenced", "Lanes lost to another holder.");
    this.redeliveries = counter("redeliveries", "Redelivered work.");
    this.duplicates = counter("duplicates", "Duplicate work or answers.", ["where"]);
    this.uncertain = counter("uncertain", "Turns that ended with an unknown outcome.");
    this.deadLetters = counter("dead_letters", "Dead letters, by reason.", ["reason"]);
    this.permissions = counter("permissions", "Permissions that agents requested, by decision.", ["outcome"]);
    this.progressGaps = counter("progress_gaps", "Gaps in the progress of agents.");
    this.slowReaders = counter("slow_readers", "Agents that did not read their messages.");
    this.natsReconnects = counter("nats_reconnects", "Connections to NATS after the first.");
  }

  observe(sizes: RelaySizes): void {
    const gauge = (name: string, help: string, value: () => number) =>
      new Gauge({
        ...{ name: `${PREFIX}${name}`, help, registers: this.#registers },
        collect() {
          this.set(value());
        },
      });
    gauge("turns_open", "Turns that agents are working on.", sizes.turnsOpen);
    gauge("lanes_held", "Lanes that this relay holds.", sizes.lanesHeld);
    gauge("outbox_messages", "Messages that wait for NATS.", sizes.outboxMessages);
    gauge(
      "outbox_bytes",
      "Bytes that wait for NATS, including answers that are being recorded or published.",
      sizes.outboxBytes,
    );
    gauge("nats_connected", "1 while NATS is connected.", () => (sizes.natsConnected() ? 1 : 0));
  }
}
