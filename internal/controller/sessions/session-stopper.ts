import { create } from "@bufbuild/protobuf";
import { timedCall } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { SidecarService, SidecarStopAgentRequestSchema } from "../../gen/gastown/v1/sidecar_pb.ts";
import { ANNOTATIONS } from "../pods/names.ts";
import type { PodClient } from "../pods/pod-client.ts";
import { isForced, isOver, type SessionRecord } from "../pods/session-record.ts";
import type { SidecarPool } from "../pods/sidecar-pool.ts";
import { CONTROLLER_CALLER } from "../pods/sidecar-status.ts";

export interface SessionStopperDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly client: PodClient;
  readonly pool: Pick<SidecarPool, "link">;
}

/** Added to the agent's grace: for a delivery in progress, KILL, and noticing the end. */
const STOP_MARGIN_MS = 30_000;
const DEFAULT_GRACE_MS = 20_000;

/**
 * Ends sessions. The request is first written to the pod, so that every replica shows it and the leader completes it
 * after a crash. Then the agent is stopped, and the pod stays for the retention, so that its events can be read.
 */
export class SessionStopper {
  readonly #deps: SessionStopperDeps;

  constructor(deps: SessionStopperDeps) {
    this.#deps = deps;
  }

  async request({ pod }: SessionRecord, force: boolean, signal: AbortSignal): Promise<void> {
    const now = new Date(this.#deps.clock.now()).toISOString();
    const forced = force ? { [ANNOTATIONS.stopForced]: "true" } : {};
    await this.#deps.client.annotate(pod, { [ANNOTATIONS.stopRequested]: now, ...forced }, signal);
  }

  /**
   * Completes a requested stop. A pod of ours that never ran, or whose sidecar is unreachable, is deleted: the kubelet
   * ends the agent within its grace, and its events are lost. An adopted pod belongs to its creator: its stop is
   * complete only when its sidecar has answered.
   *
   * @returns false: an adopted pod has not run yet, and will be stopped once it does
   * @throws DomainError if the sidecar of an adopted pod cannot be reached
   */
  async complete(record: SessionRecord, signal: AbortSignal): Promise<boolean> {
    const { clock, logger } = this.#deps;
    const { pod, key, isOwn } = record;
    const hasRun = pod.status.podIp !== "" && pod.status.containers.some(({ started }) => started);
    if (isOver(pod)) return await this.#ended(record, signal);
    if (!hasRun && !isOwn) return false;
    if (!hasRun) return await this.#delete(record, signal);
    try {
      await this.#stopAgent(record, signal);
    } catch (err) {
      signal.throwIfAborted();
      if (!(err instanceof DomainError) || !isOwn) throw err;
      logger.warn({ err, session: key.id, pod: pod.name }, "cannot stop the agent by its sidecar: deleting the pod");
      return await this.#delete(record, signal);
    }
    logger.info({ session: key.id, pod: pod.name, at: clock.now() }, "session stopped");
    return await this.#ended(record, signal);
  }

  /** The agent has ended by itself and will not be restarted: begins the retention. */
  async noteEnd(record: SessionRecord, signal: AbortSignal): Promise<void> {
    await this.#ended(record, signal);
    const { key, pod } = record;
    this.#deps.logger.info({ session: key.id, pod: pod.name }, "agent has ended by itself: session stopped");
  }

  /** The session has ended, but the time of its end is not readable: begins its retention again. */
  async noteEndAgain(record: SessionRecord, signal: AbortSignal): Promise<void> {
    await this.#ended(record, signal);
    const { key, pod } = record;
    this.#deps.logger.warn(
      { session: key.id, pod: pod.name },
      "stopped-at is not a date: the session's retention begins",
    );
  }

  async #stopAgent(record: SessionRecord, signal: AbortSignal): Promise<void> {
    const { clock, pool } = this.#deps;
    const force = isForced(record);
    const template = record.binding.templates.get(record.pod.labels["gastown.io/provider"] ?? "");
    const graceMs = template?.graceMs ?? DEFAULT_GRACE_MS;
    const limitMs = (force ? 0 : graceMs) + STOP_MARGIN_MS;
    const request = create(SidecarStopAgentRequestSchema, { graceMs: BigInt(graceMs), force });
    await timedCall(clock, { ms: limitMs, what: "StopAgent" }, signal, (either) =>
      pool.link(record).unary(SidecarService.method.stopAgent, request, CONTROLLER_CALLER, either),
    );
  }

  /** Begins the retention. */
  async #ended({ pod }: SessionRecord, signal: AbortSignal): Promise<true> {
    const now = new Date(this.#deps.clock.now()).toISOString();
    await this.#deps.client.annotate(pod, { [ANNOTATIONS.stoppedAt]: now }, signal);
    return true;
  }

  async #delete({ pod }: SessionRecord, signal: AbortSignal): Promise<true> {
    await this.#deps.client.delete(pod, signal);
    return true;
  }
}
