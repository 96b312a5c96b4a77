import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { runTasks, type Task } from "../base/task-group.ts";
import type {
  Caller,
  EventFeed,
  EventsRequest,
  InputRequest,
  InputResult,
  ProviderInfo,
  SessionBackend,
  SessionChange,
  SessionInfo,
  SessionKey,
  SessionTerminal,
  StartRequest,
} from "../bridge/session-backend.ts";
import { SessionChanges } from "../bridge/session-changes.ts";
import type { SidecarLink } from "../bridge/sidecar-link.ts";
import { pipeMessages } from "../bridge/unread-stream.ts";
import { SessionEventSchema } from "../gen/bridge/v1/bridge_pb.ts";
import {
  SidecarAckEventsRequestSchema,
  SidecarNudgeRequestSchema,
  SidecarService,
  SidecarStreamEventsRequestSchema,
} from "../gen/gastown/v1/sidecar_pb.ts";
import { nudgeReceipt } from "../wire/convert.ts";
import type { SessionLiveness } from "./session-liveness.ts";
import type { SessionPods } from "./session-pods.ts";
import { hasEnded, isStopping, type SessionRecord, sessionInfo } from "./session-record.ts";
import type { SessionStarter } from "./session-starter.ts";
import type { SessionStopper } from "./session-stopper.ts";
import type { NamespaceBinding } from "./settings.ts";
import type { SidecarPool } from "./sidecar-pool.ts";

export interface PodSessionsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pods: SessionPods;
  readonly pool: SidecarPool;
  readonly starter: SessionStarter;
  readonly stopper: SessionStopper;
  readonly liveness: (onConfirmed: (record: SessionRecord) => void) => SessionLiveness;
}

export interface PodSessionsOptions {
  readonly bindings: readonly NamespaceBinding[];
  readonly startTimeoutMs: number;
}

/** Until the watch shows what was written. */
const SEEN_MS = 2_000;

/**
 * Sessions that are pods of a cluster. It keeps nothing that the API server or a sidecar does not have, so any replica answers
 * any call; events, order and positions are the sidecar's.
 */
export class PodSessions implements SessionBackend, Task {
  readonly knownLabels = undefined;
  readonly #deps: PodSessionsDeps;
  readonly #options: PodSessionsOptions;
  readonly #changes = new SessionChanges();
  readonly #liveness: SessionLiveness;
  /** Ends stops that are being completed. */
  readonly #life = new AbortController();
  readonly #stopping = new Map<string, Promise<void>>();

  constructor(deps: PodSessionsDeps, options: PodSessionsOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#liveness = deps.liveness((record) => this.#tell("changed", record));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pods, pool } = this.#deps;
    const forget = pods.listen(({ type, record }) => {
      if (type === "gone") pool.drop(record.pod.uid);
      this.#tell(type, record);
    });
    try {
      await runTasks(signal, [pods, this.#liveness]);
    } finally {
      forget();
      this.#life.abort(new DomainError("cancelled", "the controller is shutting down"));
      await Promise.all(this.#stopping.values());
      pool[Symbol.dispose]();
    }
  }

  async start(request: StartRequest, caller: Caller, signal: AbortSignal): Promise<SessionInfo> {
    return this.#info(await this.#deps.starter.start(request, caller, signal));
  }

  async stop(
    key: SessionKey,
    { force }: { readonly force: boolean },
    _caller: Caller,
    signal: AbortSignal,
  ): Promise<SessionInfo> {
    const { pods, stopper } = this.#deps;
    const record = this.#record(key);
    if (hasEnded(record)) return this.#info(record);
    if (!isStopping(record) || force) {
      await stopper.request(record, force, signal);
      const { uid } = record.pod;
      await pods.until(key, (each) => each?.pod.uid !== uid || isStopping(each), SEEN_MS, signal);
    }
    const asked = pods.get(key) ?? record;
    this.#completeStop(asked);
    const info = this.#info(asked);
    return info.status === "stopped" || info.status === "failed" ? info : { ...info, status: "stopping" };
  }

  get(key: SessionKey): SessionInfo | undefined {
    const record = this.#deps.pods.get(key);
    if (record === undefined) this.#deps.pods.assertSynced();
    return record && this.#info(record);
  }

  list(project: string): readonly SessionInfo[] {
    this.#deps.pods.assertSynced();
    const records = [...this.#deps.pods.all()].filter(({ key }) => key.project === project);
    return records
      .map((record) => this.#info(record))
      .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  }

  changes(project: string, signal: AbortSignal): AsyncIterable<SessionChange> {
    return this.#changes.read(project, signal);
  }

  labelsOf(session: SessionInfo): Readonly<Record<string, string>> {
    return this.#deps.pods.get(session)?.pod.labels ?? {};
  }

  async sendInput(key: SessionKey, input: InputRequest, caller: Caller, signal: AbortSignal): Promise<InputResult> {
    const requestId = input.idempotencyKey || randomUUID();
    const request = create(SidecarNudgeRequestSchema, { message: input.text, requestId });
    const response = await this.terminal(key).unary(SidecarService.method.nudge, request, caller, signal);
    const { outcome, error } = nudgeReceipt(response, caller.identity);
    return { outcome, error, seq: 0n };
  }

  async events(key: SessionKey, request: EventsRequest, caller: Caller): Promise<EventFeed> {
    const link = this.#link(key);
    const { after, subscriber, epoch } = request;
    const position = { subscriberId: subscriber, epoch, ...(after !== undefined && { afterSeq: after }) };
    const message = create(SidecarStreamEventsRequestSchema, position);
    return {
      pipe: (target, stop) => {
        const events = link.stream(SidecarService.method.streamEvents, message, caller, stop);
        return pipeMessages(events, SessionEventSchema, target, stop);
      },
    };
  }

  async ack(
    key: SessionKey,
    { subscriber, seq, epoch }: { readonly subscriber: string; readonly seq: bigint; readonly epoch: string },
    caller: Caller,
    signal: AbortSignal,
  ): Promise<void> {
    const request = create(SidecarAckEventsRequestSchema, { subscriberId: subscriber, ackSeq: seq, epoch });
    await this.#link(key).unary(SidecarService.method.ackEvents, request, caller, signal);
  }

  terminal(key: SessionKey): SessionTerminal {
    const record = this.#record(key);
    const { status } = this.#info(record);
    const quoted = JSON.stringify(key.id);
    if (status === "starting") throw new DomainError("unavailable", `session ${quoted} is starting`);
    if (status === "stopped" || status === "failed") {
      throw new DomainError("precondition", `session ${quoted} has ended`);
    }
    return this.#deps.pool.link(record);
  }

  async providers(project: string): Promise<readonly ProviderInfo[]> {
    const offered = this.#options.bindings.filter((binding) => binding.project === project);
    const templates = new Map(offered.flatMap((binding) => [...binding.templates]));
    return [...templates].map(([provider, { image }]) => {
      return { provider, available: true, error: "", version: "", binary: image, capabilities: ["terminal"] };
    });
  }

  #tell(type: SessionChange["type"], record: SessionRecord): void {
    this.#changes.tell({ type, session: this.#info(record) });
  }

  #info(record: SessionRecord): SessionInfo {
    const { startTimeoutMs } = this.#options;
    const confirmed = this.#liveness.isConfirmed(record);
    return sessionInfo(record, { confirmed, startTimeoutMs, now: this.#deps.clock.now() });
  }

  #record(key: SessionKey): SessionRecord {
    const record = this.#deps.pods.get(key);
    if (record !== undefined) return record;
    this.#deps.pods.assertSynced();
    throw new DomainError("not-found", `there is no session ${JSON.stringify(key.id)}`);
  }

  /** A stopped session's sidecar serves its events through the retention. */
  #link(key: SessionKey): SidecarLink {
    return this.#deps.pool.link(this.#record(key));
  }

  /** Goes on after the call; what this replica does not bring to its end the leader does. */
  #completeStop(record: SessionRecord): void {
    const { uid, name } = record.pod;
    if (this.#stopping.has(uid)) return;
    const completing = this.#deps.stopper
      .complete(record, this.#life.signal)
      .catch((err: unknown) => {
        if (this.#life.signal.aborted) return;
        this.#deps.logger.warn(
          { err, session: record.key.id, pod: name },
          "cannot complete a stop: left to the leader",
        );
      })
      .finally(() => this.#stopping.delete(uid));
    this.#stopping.set(uid, completing);
  }
}
