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
  /** Called at each end of work on a wake, with its state and age, and the obstacle if it is another than before. */
  readonly onEnded?: (end: { readonly state: string; readonly ageMs?: number; readonly deferredBy?: string }) => void;
  /** Hears of each first nudge: ms from the commit that wanted it. */
  readonly onBegun?: (ms: number) => void;
}
