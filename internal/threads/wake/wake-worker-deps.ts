import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Changes } from "../domain/changes.ts";
import type { Runtimes } from "../domain/runtimes.ts";
import type { Store } from "../domain/store.ts";
import type { WakeStore } from "../domain/wake-store.ts";

export interface WakeWorkerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: Store;
  readonly wakes: WakeStore;
  readonly changes: Changes;
  readonly runtimes: Runtimes;
  /** Called when work on a wake ends, with its state, its age (ms), and the cause of a deferral if it has changed. */
  readonly onEnded?: (end: {
    readonly state: string;
    readonly ageMs?: number | undefined;
    readonly deferredBy?: string | undefined;
  }) => void;
  /** Called at the first nudge of a wake; `ms`: since the commit that made the wake. */
  readonly onBegun?: (ms: number) => void;
}
