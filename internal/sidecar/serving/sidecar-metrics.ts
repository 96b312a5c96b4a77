import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { SidecarIdentity } from "../../session/sidecar-identity.ts";
import type { NudgeReceipt } from "../../session/types.ts";
import { VIOLATIONS, type Violation } from "../agent/boundary.ts";
import type { SidecarAgent } from "../agent/sidecar-agent.ts";

const LATENCY_BUCKETS_SECONDS = [0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2, 5];

/** The identity of a sidecar in its metrics; all of it is configuration. */
interface SidecarLabels extends SidecarIdentity {
  readonly provider: string;
}

/** Numbers about the agent and its messages; never what was typed or printed. */
export class SidecarMetrics {
  readonly #registry: Registry;
  readonly #receipts: Counter<"outcome">;
  readonly #held: Counter<"check">;
  readonly #latency: Histogram;
  readonly #violations: Counter<"kind">;

  constructor(registry: Registry) {
    this.#registry = registry;
    const registers = [registry];
    this.#receipts = new Counter({
      name: "gastown_nudges_ended_total",
      help: "Finished messages, by outcome.",
      labelNames: ["outcome"],
      registers,
    });
    this.#held = new Counter({
      name: "gastown_nudges_held_total",
      help: "Times that a check of the delivery policy began to hold a message or ended it, by check.",
      labelNames: ["check"],
      registers,
    });
    this.#latency = new Histogram({
      name: "gastown_nudge_delivery_seconds",
      help: "Time from the start of the delivery to its confirmation, for submitted messages.",
      buckets: LATENCY_BUCKETS_SECONDS,
      registers,
    });
    this.#violations = new Counter({
      name: "gastown_boundary_violations_total",
      help: "Attempts of the agent to interfere with the serving half, by kind.",
      labelNames: ["kind"],
      registers,
    });
    for (const kind of VIOLATIONS) this.#violations.inc({ kind }, 0);
  }

  violated(kind: Violation): void {
    this.#violations.inc({ kind });
  }

  held(check: string): void {
    this.#held.inc({ check });
  }

  ended(receipt: NudgeReceipt): void {
    this.#receipts.inc({ outcome: receipt.outcome });
    const { confirmedMs, startedMs = 0 } = receipt.timings;
    if (confirmedMs !== undefined) this.#latency.observe((confirmedMs - startedMs) / 1000);
  }

  /** Registers the values that are read at each scrape. `who`: the labels of `gastown_sidecar_info`. */
  observe(agent: SidecarAgent, who: SidecarLabels): void {
    const { lifecycle, messages, terminal, events, versions } = agent;
    this.#observeInfo(versions, who);
    const gauges: Readonly<Record<string, readonly [help: string, value: () => number]>> = {
      gastown_agent_alive: ["1 while the agent's process is running.", () => Number(lifecycle.alive)],
      gastown_agent_restarts: ["How often the agent was restarted.", () => lifecycle.life.restarts],
      gastown_nudge_queue_depth: ["Waiting messages.", () => messages.mailbox.depth],
      gastown_output_bytes: ["Offset of the next byte of the agent's output.", () => Number(terminal.output.ring.end)],
      gastown_event_seq: ["Number of the last event.", () => Number(events.head)],
      gastown_event_log_bytes: ["Approximate memory used by the held events.", () => events.bytes],
    };
    for (const [name, [help, value]] of Object.entries(gauges)) {
      const registers = [this.#registry];
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(value());
        },
      });
    }
    const registers = [this.#registry];
    new Gauge({
      name: "gastown_agent_state",
      help: "1 for the current state of the agent.",
      labelNames: ["state"],
      registers,
      collect() {
        this.reset();
        this.set({ state: terminal.monitor.report.state }, 1);
      },
    });
  }

  #observeInfo(versions: SidecarAgent["versions"], { sessionId, project, address, provider }: SidecarLabels): void {
    const registers = [this.#registry];
    new Gauge({
      name: "gastown_sidecar_info",
      help: "1, with this sidecar's identity and the versions of its programs; an unknown version is empty.",
      labelNames: ["session", "project", "address", "provider", "version", "tmux_version", "agent_version"],
      registers,
      collect() {
        const { "gt-sidecar": version = "", tmux = "", agent: program = "" } = versions();
        const labels = { version, tmux_version: tmux, agent_version: program };
        this.reset();
        this.set({ session: sessionId, project, address, provider, ...labels }, 1);
      },
    });
  }
}
