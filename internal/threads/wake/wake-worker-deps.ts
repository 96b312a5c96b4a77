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
  /** Hears of each end of a wake: its state, and ms from when it was due to when the nudge began. */
  readonly onEnded?: (state: string) => void;
}
