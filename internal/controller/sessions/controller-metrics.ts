import { Counter, Gauge, type Registry } from "prom-client";
import type { SessionInfo } from "../../bridge/session-backend.ts";
import type { ReflectorCounts } from "../../kube/reflector.ts";
import type { CallFacts } from "../../kube/transport.ts";
import type { RotationStatus } from "../certificates/ca-rotator.ts";

/** The values read at each scrape. */
export interface ControllerFacts {
  sessions(): Iterable<Pick<SessionInfo, "status">>;
  leads(): boolean;
  /** The number of sessions that wait for the leader's work. */
  queueDepth(): number;
  /** Undefined: this replica does not lead. */
  rotation(): RotationStatus | undefined;
  /**
   * When the first of the sessions' certificates expires, wall clock, ms; undefined: this replica does not lead, or
   * there is none.
   */
  earliestEnd(): number | undefined;
  /** By watched resource. */
  watches(): Readonly<Record<"pods" | "secrets", readonly ReflectorCounts[]>>;
  /** Time since the API server was last heard from about pods, ms. */
  staleMs(): number;
}

const STATUSES: readonly SessionInfo["status"][] = ["starting", "running", "stopping", "stopped", "failed"];
const PHASES: readonly RotationStatus["phase"][] = ["steady", "introducing", "reissuing", "retiring"];

/** Metrics of one replica; labels never contain text that a caller chose. */
export class ControllerMetrics {
  readonly #registers: Registry[];
  readonly #starts: Counter<"outcome">;
  readonly #issued: Counter<"why">;
  readonly #requests: Counter<"method" | "resource" | "status">;

  constructor(registry: Registry) {
    this.#registers = [registry];
    const registers = this.#registers;
    this.#starts = new Counter({
      name: "gastown_controller_starts_total",
      help: "StartSession calls that this replica answered, by outcome: started, or the kind of refusal.",
      labelNames: ["outcome"],
      registers,
    });
    this.#issued = new Counter({
      name: "gastown_controller_certificates_issued_total",
      help: "Certificates of sessions that this replica has issued, by the policy that requested them.",
      labelNames: ["why"],
      registers,
    });
    this.#requests = new Counter({
      name: "gastown_kube_requests_total",
      help: "Attempts of calls to the Kubernetes API, by method, resource and HTTP status; status 0: no answer.",
      labelNames: ["method", "resource", "status"],
      registers,
    });
  }

  started(outcome: string): void {
    this.#starts.inc({ outcome });
  }

  issued(why: string): void {
    this.#issued.inc({ why });
  }

  attempted({ method, resource, status }: CallFacts): void {
    this.#requests.inc({ method, resource, status });
  }

  observe(facts: ControllerFacts): void {
    this.#sessions(facts);
    this.#rotation(facts);
    this.#reflectors(facts);
    this.#gauge("gastown_controller_leader", "1: this replica leads, and writes.", () => Number(facts.leads()));
    this.#gauge("gastown_controller_queue_depth", "Sessions that wait for the leader's work.", facts.queueDepth);
    this.#gauge(
      "gastown_controller_certificates_earliest_expiry_timestamp_seconds",
      "When the first of the sessions' certificates expires (Unix time); 0: this replica does not lead, or there is none.",
      () => (facts.earliestEnd() ?? 0) / 1000,
    );
    this.#gauge(
      "gastown_kube_watch_silent_seconds",
      "Time since the API server last sent something about the namespace that has been silent longest; up to 100 s is normal.",
      () => facts.staleMs() / 1000,
    );
  }

  /** `aheadMs`: how far this machine's clock is ahead of the API server's, ms. */
  clock(aheadMs: () => number): void {
    this.#gauge(
      "gastown_kube_clock_ahead_seconds",
      "By how much the clock of the replica's node is ahead of the API server's; 0: by less than 5 s.",
      () => aheadMs() / 1000,
    );
  }

  #sessions({ sessions }: ControllerFacts): void {
    new Gauge({
      name: "gastown_controller_sessions",
      help: "Sessions by status, as this replica knows them.",
      labelNames: ["status"],
      registers: this.#registers,
      collect() {
        const counts = new Map(STATUSES.map((status) => [status, 0]));
        for (const { status } of sessions()) counts.set(status, (counts.get(status) ?? 0) + 1);
        for (const [status, count] of counts) this.set({ status }, count);
      },
    });
  }

  #rotation({ rotation }: ControllerFacts): void {
    new Gauge({
      name: "gastown_ca_rotation_phase",
      help: "1 for the current phase of the CA's replacement; reported by the leading replica.",
      labelNames: ["phase"],
      registers: this.#registers,
      collect() {
        const current = rotation()?.phase;
        for (const phase of PHASES) this.set({ phase }, Number(phase === current));
      },
    });
    this.#gauge(
      "gastown_ca_rotation_waiting",
      "Sessions, and CAs of callers, that delay the next step of the CA's replacement.",
      () => rotation()?.waitingFor.length ?? 0,
    );
  }

  #reflectors({ watches }: ControllerFacts): void {
    this.#watch("gastown_kube_lists_total", "Lists with which a watch began or was compared.", "lists", watches);
    this.#watch("gastown_kube_watches_total", "Watches that were opened.", "watches", watches);
    this.#watch("gastown_kube_watch_events_total", "Events that watches delivered.", "events", watches);
    this.#watch("gastown_kube_watch_failures_total", "Lists and watches that failed.", "failures", watches);
    this.#watch(
      "gastown_kube_watch_missed_events_total",
      "Changes that no watch delivered, found by comparing with a list.",
      "missed",
      watches,
    );
  }

  #watch(name: string, help: string, count: keyof ReflectorCounts, watches: ControllerFacts["watches"]): void {
    new Counter({
      name,
      help,
      labelNames: ["resource"],
      registers: this.#registers,
      collect() {
        this.reset();
        for (const [resource, all] of Object.entries(watches())) {
          this.inc(
            { resource },
            all.reduce((sum, counts) => sum + counts[count], 0),
          );
        }
      },
    });
  }

  #gauge(name: string, help: string, value: () => number): void {
    new Gauge({
      name,
      help,
      registers: this.#registers,
      collect() {
        this.set(value());
      },
    });
  }
}
