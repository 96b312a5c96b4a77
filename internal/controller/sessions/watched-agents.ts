import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { EventType } from "../../gen/gastown/v1/common_pb.ts";
import type { SidecarEvent } from "../../gen/gastown/v1/sidecar_pb.ts";
import type { NudgeReceipt } from "../../session/types.ts";
import { eventReceipt } from "../../wire/nudge.ts";
import type { SessionPods } from "../pods/session-pods.ts";
import type { SessionRecord } from "../pods/session-record.ts";
import type { EventsOf, SharedEvents } from "./shared-events.ts";

export interface WatchedAgentsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: Pick<SharedEvents, "listen">;
  readonly pods: Pick<SessionPods, "get"> & { all(): Iterable<SessionRecord> };
  readonly isRunning: (record: SessionRecord) => boolean;
  readonly eventsOf: (record: SessionRecord) => EventsOf;
  /** Called when an agent's state or dialog has changed, or a nudge has its receipt. */
  readonly onChanged: (record: SessionRecord, receipt?: NudgeReceipt) => void;
}

/** The state of a watched project. */
interface Watch {
  readers: number;
  readonly stop: AbortController;
  /** Uids of the pods that are followed. */
  readonly followed: Set<string>;
}

/**
 * A sidecar that stayed away or has sent its last event is followed again after this time, if its session is then
 * running.
 */
const AGAIN_MS = 5_000;
const MAX_EVIDENCE = 32;
const CHANGES: ReadonlySet<EventType> = new Set([
  EventType.PHASE_CHANGED,
  EventType.DIALOG_OPENED,
  EventType.DIALOG_CLOSED,
  EventType.NUDGE_RECEIPT,
]);

/** Follows the events of a project's running agents while anyone watches the project. */
export class WatchedAgents implements AsyncDisposable {
  readonly #deps: WatchedAgentsDeps;
  readonly #watches = new Map<string, Watch>();
  readonly #running = new Set<Promise<void>>();

  constructor(deps: WatchedAgentsDeps) {
    this.#deps = deps;
  }

  /** Watches the project until the signal is aborted. */
  watch(project: string, signal: AbortSignal): void {
    if (signal.aborted) return;
    const watch = this.#watches.get(project) ?? { readers: 0, stop: new AbortController(), followed: new Set() };
    this.#watches.set(project, watch);
    watch.readers++;
    signal.addEventListener("abort", () => this.#leave(project, watch), { once: true });
    for (const record of this.#deps.pods.all()) if (record.key.project === project) this.look(record);
  }

  /** Follows a session if its agent is running and its project is watched. */
  look(record: SessionRecord): void {
    const watch = this.#watches.get(record.key.project);
    const { uid } = record.pod;
    if (watch === undefined || watch.followed.has(uid) || !this.#deps.isRunning(record)) return;
    watch.followed.add(uid);
    const following: Promise<void> = this.#follow(record, watch.stop.signal).finally(() => {
      watch.followed.delete(uid);
      this.#running.delete(following);
    });
    this.#running.add(following);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { stop } of this.#watches.values()) stop.abort();
    this.#watches.clear();
    await Promise.all(this.#running);
  }

  #leave(project: string, watch: Watch): void {
    watch.readers--;
    if (watch.readers > 0) return;
    watch.stop.abort();
    if (this.#watches.get(project) === watch) this.#watches.delete(project);
  }

  async #follow(record: SessionRecord, signal: AbortSignal): Promise<void> {
    const { clock, logger, events, eventsOf } = this.#deps;
    try {
      while (this.#runsStill(record)) {
        await events.listen(eventsOf(record), (event) => this.#heard(record, event), signal);
        await clock.sleep(AGAIN_MS, signal);
      }
    } catch (err) {
      if (signal.aborted || err instanceof DomainError) return;
      logger.error({ err, session: record.key.id }, "cannot follow an agent for an overview because of a bug");
    }
  }

  #runsStill({ key, pod }: SessionRecord): boolean {
    const now = this.#deps.pods.get(key);
    return now?.pod.uid === pod.uid && this.#deps.isRunning(now);
  }

  #heard({ key }: SessionRecord, { type, receipt }: SidecarEvent): void {
    const record = CHANGES.has(type) ? this.#deps.pods.get(key) : undefined;
    if (record !== undefined) this.#deps.onChanged(record, receipt && eventReceipt(brief(receipt)));
  }
}

/** Bounds a receipt that readers keep: an honest sidecar names only a few pieces of evidence. */
function brief(receipt: NonNullable<SidecarEvent["receipt"]>): NonNullable<SidecarEvent["receipt"]> {
  return { ...receipt, evidence: receipt.evidence.slice(0, MAX_EVIDENCE) };
}
