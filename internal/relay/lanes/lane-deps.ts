import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Tracer } from "../../base/tracing.ts";
import type { Bus } from "../nats/bus.ts";
import type { LossyPublisher } from "../nats/lossy-publisher.ts";
import type { Outbox } from "../nats/outbox.ts";
import type { ProgressRings } from "../nats/progress-rings.ts";
import type { Signers } from "../nats/signing.ts";
import type { RelayEvents } from "./relay-events.ts";
import type { RelayMetrics } from "./relay-metrics.ts";
import type { TurnLimits } from "./turn-policy.ts";

/** Points between the steps of a turn, in order. */
export type TurnPoint = "claimed" | "pulled" | "prompted" | "asked" | "answered" | "published" | "done" | "acked";

export interface LaneDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly bus: Bus;
  readonly outbox: Pick<Outbox, "hold" | "isFull" | "changes">;
  readonly lossy: Pick<LossyPublisher, "publish">;
  /** Keep the updates and prompts that editors may ask for again. */
  readonly rings: Pick<ProgressRings, "add" | "prompted">;
  readonly events: RelayEvents;
  readonly metrics: RelayMetrics;
  /** Traces turns. */
  readonly tracer: Tracer;
  /** Signers of work, decisions and control messages; undefined: messages need no signature. */
  readonly signers: Signers | undefined;
  /** The id of this process. */
  readonly instance: string;
  /** Called after each step; tests end the process there. */
  readonly reached: (point: TurnPoint) => void;
}

export interface LaneOptions {
  readonly limitsOf: (role: string) => TurnLimits;
  readonly ackWaitMs: number;
  /** How long a claim waits for the holder to answer. After that the holder is fenced. */
  readonly holderMs: number;
  readonly deadlineMs: number;
  readonly idleMs: number;
  /** How long an agent may take to end a turn that is cancelled or overdue, before its connection is closed. */
  readonly cancelGraceMs: number;
  /** How long work may wait for an agent. */
  readonly workTtlMs: number;
  /** The longest work and the longest answer, in bytes. */
  readonly maxMessageBytes: number;
}
