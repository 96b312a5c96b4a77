import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { timedCall } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import { endedTerminal } from "../../bridge/ended-terminal.ts";
import { byAge } from "../../bridge/list-page.ts";
import type {
  Actor,
  EventFeed,
  InputRequest,
  InputResult,
  ProviderInfo,
  SessionBackend,
  SessionChange,
  SessionEventsRequest,
  SessionInfo,
  SessionKey,
  SessionTerminal,
  StartRequest,
} from "../../bridge/session-backend.ts";
import { SessionChanges } from "../../bridge/session-changes.ts";
import type { SidecarLink } from "../../bridge/sidecar-link.ts";
import {
  SidecarAckEventsRequestSchema,
  SidecarNudgeRequestSchema,
  SidecarService,
} from "../../gen/gastown/v1/sidecar_pb.ts";
import type { NudgeReceipt } from "../../session/types.ts";
import { nudgeReceipt } from "../../wire/nudge.ts";
import { LABELS } from "../pods/names.ts";
import type { SessionPods } from "../pods/session-pods.ts";
import { hasEnded, isForced, isOver, isStopping, type SessionRecord, sessionInfo } from "../pods/session-record.ts";
import type { SidecarPool } from "../pods/sidecar-pool.ts";
import { isSidecarFault } from "../pods/sidecar-status.ts";
import { inputSeq } from "./input-seq.ts";
import type { MissingSessions } from "./missing-sessions.ts";
import type { ProviderChecks } from "./provider-checks.ts";
import type { SessionLiveness } from "./session-liveness.ts";
import type { SessionMounts } from "./session-mounts.ts";
import { assertNotFailed, type SessionStarter } from "./session-starter.ts";
import type { SessionStopper } from "./session-stopper.ts";
import { type EventsOf, SharedEvents } from "./shared-events.ts";
import { agentFacts, eventPosition, type SidecarPosition } from "./sidecar-position.ts";
import { StopsUnderWay } from "./stops-under-way.ts";
import { WatchedAgents } from "./watched-agents.ts";

export interface PodSessionsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pods: SessionPods;
  readonly pool: SidecarPool;
  readonly starter: SessionStarter;
  readonly stopper: SessionStopper;
  readonly liveness: (onChanged: (record: SessionRecord) => void) => SessionLiveness;
  readonly mounts: (onChanged: (record: SessionRecord) => void) => SessionMounts;
  readonly missing: MissingSessions;
  readonly providers: ProviderChecks;
  /** Receives the outcome of each start: `started`, or the kind of its error. */
  readonly onStart?: (how: string) => void;
}

/** How long to wait until the watch shows a write. */
const SEEN_MS = 2_000;
/** How long an input waits for its session to run. */
const START_WAIT_MS = 10_000;
/** Time limit of additional calls to a sidecar. */
const POSITION_MS = 2_000;
const MAX_INT32 = 2 ** 31 - 1;

/**
 * Sessions that are pods of a cluster. Keeps only state that the API server or a sidecar has too, so any replica can
 * answer any call. Sidecars own events, their order and positions.
 */
export class PodSessions implements SessionBackend, Task {
  readonly knownLabels = undefined;
  readonly #deps: PodSessionsDeps;
  readonly #options: { readonly startTimeoutMs: number };
  readonly #changes = new SessionChanges();
  readonly #changed = new SignalBus();
  readonly #liveness: SessionLiveness;
  readonly #mounts: SessionMounts;
  readonly #events: SharedEvents;
  readonly #watched: WatchedAgents;
  readonly #stops: StopsUnderWay;

  constructor(deps: PodSessionsDeps, options: { readonly startTimeoutMs: number }) {
    this.#deps = deps;
    this.#options = options;
    this.#stops = new StopsUnderWay(deps);
    this.#events = new SharedEvents(deps.clock);
    this.#watched = new WatchedAgents({
      ...{ clock: deps.clock, logger: deps.logger, pods: deps.pods, events: this.#events },
      isRunning: (record) => this.#info(record).status === "running",
      eventsOf: (record) => this.#eventsOf(record),
      onChanged: (record, receipt) => this.#tell("changed", record, receipt),
    });
    this.#liveness = deps.liveness((record) => this.#tell("changed", record));
    this.#mounts = deps.mounts((record) => this.#tell("changed", record));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pods, pool } = this.#deps;
    const forget = pods.listen(({ type, record }) => {
      if (type === "gone") {
        pool.drop(record.pod.uid);
        this.#events.drop(record.pod.uid);
      }
      if (type === "changed" || pods.get(record.key) === undefined) this.#tell(type, record);
    });
    try {
      await runTasks(signal, [pods, this.#liveness, this.#mounts]);
    } finally {
      forget();
      await this.#stops[Symbol.asyncDispose]();
      await this.#watched[Symbol.asyncDispose]();
      await this.#events[Symbol.asyncDispose]();
      pool[Symbol.dispose]();
    }
  }

  async start(request: StartRequest, caller: Actor, signal: AbortSignal): Promise<SessionInfo> {
    const { starter, onStart, providers } = this.#deps;
    try {
      const known = this.#deps.pods.get(request);
      if (known !== undefined) assertNotFailed(this.#info(known));
      const record = await starter.start(request, caller, signal);
      onStart?.("started");
      return this.#info(record);
    } catch (err) {
      onStart?.(err instanceof DomainError ? err.kind : "internal");
      providers.forget(request.project);
      throw err;
    }
  }

  /** True if the status of every session with a running pod is based on its sidecar's answer, or on the lack of one. */
  get isCaughtUp(): boolean {
    return this.#liveness.isCaughtUp;
  }

  /** The sessions of all projects. */
  *all(): Generator<SessionInfo> {
    for (const record of this.#deps.pods.all()) yield this.#info(record);
  }

  async stop(
    key: SessionKey,
    { force }: { readonly force: boolean },
    _caller: Actor,
    signal: AbortSignal,
  ): Promise<SessionInfo> {
    const { pods } = this.#deps;
    const record = this.#record(key);
    if (hasEnded(record)) return this.#info(record);
    const isShown = (each: SessionRecord) => isStopping(each) && (isForced(each) || !force);
    if (!isShown(record)) {
      await this.#stops.request(record, force, signal);
      const { uid } = record.pod;
      await pods.until(key, (each) => each?.pod.uid !== uid || isShown(each), SEEN_MS, signal);
    }
    const asked = pods.get(key) ?? record;
    this.#stops.complete(asked);
    const info = this.#info(asked);
    return info.status === "stopped" || info.status === "failed" ? info : { ...info, status: "stopping" };
  }

  get(key: SessionKey): SessionInfo | undefined {
    const record = this.#deps.pods.get(key);
    if (record === undefined) this.#deps.pods.assertFollows(key.project);
    return record && this.#info(record);
  }

  async confirmMissing(key: SessionKey, signal: AbortSignal): Promise<void> {
    await this.#deps.missing.confirm(key, signal);
  }

  async describe(key: SessionKey, signal: AbortSignal): Promise<SessionInfo | undefined> {
    const info = this.get(key);
    if (info === undefined || info.status === "starting") return info;
    try {
      const link = this.#link(key);
      const limit = { ms: POSITION_MS, what: "its sidecar" };
      const [{ epoch, head }, { restarts, agentSessionId }] = await timedCall(
        this.#deps.clock,
        limit,
        signal,
        (either) => Promise.all([eventPosition(link, either), agentFacts(link, either)]),
      );
      const all = Math.min(info.restarts + Math.max(0, restarts), MAX_INT32);
      return { ...info, epoch, lastSeq: head, restarts: all, agentSessionId };
    } catch (err) {
      if (signal.aborted || !(err instanceof DomainError || isSidecarFault(err))) throw err;
      return info; // the sidecar has ended, hangs or fails: return what the cluster knows
    }
  }

  list(project: string): readonly SessionInfo[] {
    this.#deps.pods.assertSynced();
    const records = [...this.#deps.pods.all()].filter(({ key }) => key.project === project);
    return records.map((record) => this.#info(record)).sort(byAge);
  }

  listFault(project: string): string {
    return this.#deps.pods.catchUp(project) ? "the API server does not answer" : "";
  }

  changes(project: string, signal: AbortSignal): AsyncIterable<SessionChange> {
    const changes = this.#changes.read(project, signal);
    this.#watched.watch(project, signal);
    return changes;
  }

  labelsOf(session: SessionInfo): Readonly<Record<string, string>> {
    return this.#deps.pods.get(session)?.pod.labels ?? {};
  }

  async sendInput(key: SessionKey, input: InputRequest, caller: Actor, signal: AbortSignal): Promise<InputResult> {
    const requestId = input.idempotencyKey || randomUUID();
    const request = create(SidecarNudgeRequestSchema, { message: input.text, requestId });
    await this.#untilStarted(key, signal);
    const terminal = this.terminal(key);
    const before = await eventPosition(terminal, signal);
    const response = await terminal.unary(SidecarService.method.nudge, request, caller, signal);
    const { outcome, error } = nudgeReceipt(response, caller.identity);
    return { outcome, error, seq: await this.#seqOf(terminal, requestId, before, signal) };
  }

  async #untilStarted(key: SessionKey, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const end = clock.monotonicMs() + START_WAIT_MS;
    for (let left = START_WAIT_MS; left > 0 && this.get(key)?.status === "starting"; left = end - clock.monotonicMs()) {
      await this.#changed.nextOrAfter(left, clock, signal);
    }
  }

  /** The input has been accepted: an error here does not undo that. */
  async #seqOf(
    terminal: SessionTerminal,
    requestId: string,
    before: SidecarPosition,
    signal: AbortSignal,
  ): Promise<bigint> {
    try {
      const limit = { ms: POSITION_MS, what: "its event" };
      return await timedCall(this.#deps.clock, limit, signal, (either) =>
        inputSeq(terminal, requestId, before, either),
      );
    } catch (err) {
      if (err instanceof DomainError || signal.aborted) return 0n;
      throw err;
    }
  }

  async events(key: SessionKey, request: SessionEventsRequest, caller: Actor): Promise<EventFeed> {
    const record = this.#record(key);
    // Until the pod is over, readers reconnect, since the sidecar may answer.
    if (isOver(record.pod)) throw this.#endOf(record);
    const events = this.#eventsOf(record);
    events.terminal();
    return this.#events.feed(events, request, caller);
  }

  async ack(
    key: SessionKey,
    { subscriber, seq, epoch }: { readonly subscriber: string; readonly seq: bigint; readonly epoch: string },
    caller: Actor,
    signal: AbortSignal,
  ): Promise<void> {
    const request = create(SidecarAckEventsRequestSchema, { subscriberId: subscriber, ackSeq: seq, epoch });
    await this.#link(key).unary(SidecarService.method.ackEvents, request, caller, signal);
  }

  terminal(key: SessionKey): SessionTerminal {
    const record = this.#record(key);
    const { status, error } = this.#info(record);
    if (status === "starting") {
      const why = error === "" ? "" : `: ${error}`;
      const message = `session ${JSON.stringify(key.id)} is starting${why}`;
      throw new DomainError("unavailable", message, { fields: { session: status } });
    }
    if (status === "stopped" || status === "failed") return this.#lingering(record, () => this.#endOf(record));
    return this.#deps.pool.link(record);
  }

  #endOf(record: SessionRecord): DomainError {
    const { status, error } = this.#info(record);
    const how = status === "failed" ? "has failed" : "has ended";
    const message = `session ${JSON.stringify(record.key.id)} ${how}${error === "" ? "" : `: ${error}`}`;
    // A failed session may still recover until its pod is over.
    return new DomainError("precondition", message, {
      fields: { status, ...(hasEnded(record) && { session: "ended" }) },
    });
  }

  /** After its agent's end a sidecar lingers: it answers until its pod is deleted. */
  #lingering(record: SessionRecord, ended: () => DomainError): SessionTerminal {
    return endedTerminal(async (method, request, caller, signal) => {
      try {
        return await this.#deps.pool.link(record).unary(method, request, caller, signal);
      } catch (err) {
        if (err instanceof DomainError && err.kind === "unavailable") throw ended();
        throw err;
      }
    }, ended);
  }

  async providers(project: string, signal: AbortSignal): Promise<readonly ProviderInfo[]> {
    return await this.#deps.providers.of(project, signal);
  }

  #tell(type: SessionChange["type"], record: SessionRecord, receipt?: NudgeReceipt): void {
    this.#changes.tell({ type, session: this.#info(record), receipt });
    this.#changed.notify();
    if (type === "changed") this.#watched.look(record);
  }

  #eventsOf(record: SessionRecord): EventsOf {
    const { key, pod } = record;
    const terminal = () => {
      const now = this.#deps.pods.get(key);
      if (now?.pod.uid !== pod.uid) throw new DomainError("unavailable", "the session's pod is gone");
      return this.#deps.pool.link(now);
    };
    const provider = pod.labels[LABELS.provider] ?? "";
    return { uid: pod.uid, key: { ...key, provider }, terminal, isLive: !hasEnded(record) };
  }

  #info(record: SessionRecord): SessionInfo {
    const { startTimeoutMs } = this.#options;
    const [confirmed, loop] = [this.#liveness.isConfirmed(record), this.#liveness.loopOf(record)];
    const missing = this.#mounts.missingOf(record);
    return sessionInfo(record, { confirmed, loop, missing, startTimeoutMs, now: this.#deps.clock.now() });
  }

  #record(key: SessionKey): SessionRecord {
    const record = this.#deps.pods.get(key);
    if (record !== undefined) return record;
    this.#deps.pods.assertFollows(key.project);
    throw new DomainError("not-found", `no session ${JSON.stringify(key.id)}`);
  }

  /** A stopped session's sidecar serves its events during the retention. */
  #link(key: SessionKey): SidecarLink {
    return this.#deps.pool.link(this.#record(key));
  }
}
