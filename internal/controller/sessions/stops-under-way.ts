import { raceSignal } from "../../base/abort.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { isForced, type SessionRecord } from "../pods/session-record.ts";
import type { SessionStopper } from "./session-stopper.ts";

interface StopsUnderWayDeps {
  readonly logger: Logger;
  readonly stopper: Pick<SessionStopper, "request" | "complete">;
}

/** Stops that continue after their calls. The leader completes those that this replica cannot. */
export class StopsUnderWay implements AsyncDisposable {
  readonly #deps: StopsUnderWayDeps;
  readonly #life = new AbortController();
  /** Writes in progress, by pod uid and force. */
  readonly #requests = new Map<string, Promise<void>>();
  /** Stops in progress, by pod uid; forced ones separately. */
  readonly #stops = new Map<string, Promise<unknown>>();

  constructor(deps: StopsUnderWayDeps) {
    this.#deps = deps;
  }

  /** Like `SessionStopper.request`, but concurrent requests share one write. */
  async request(record: SessionRecord, force: boolean, signal: AbortSignal): Promise<void> {
    const stop = `${record.pod.uid} ${force}`;
    const writing =
      this.#requests.get(stop) ??
      this.#deps.stopper.request(record, force, this.#life.signal).finally(() => this.#requests.delete(stop));
    this.#requests.set(stop, writing);
    await raceSignal(writing, signal);
  }

  complete(record: SessionRecord): void {
    const { uid, name } = record.pod;
    // A forced stop does not wait for a stop that waits for the agent.
    const stop = isForced(record) ? `${uid} forced` : uid;
    if (this.#stops.has(stop)) return;
    const { logger, stopper } = this.#deps;
    const completing: Promise<unknown> = stopper
      .complete(record, this.#life.signal)
      .catch((err: unknown) => {
        if (this.#life.signal.aborted) return;
        logger.warn({ err, session: record.key.id, pod: name }, "cannot complete a stop: left to the leader");
      })
      .finally(() => this.#stops.delete(stop));
    this.#stops.set(stop, completing);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort(new DomainError("cancelled", "the controller is shutting down"));
    await Promise.allSettled([...this.#requests.values(), ...this.#stops.values()]);
  }
}
