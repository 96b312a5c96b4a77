/** The work that a program and everything it started have done so far. */
export interface WorkSample {
  /** Processor time in milliseconds, including that of children that have ended. */
  readonly cpuMs: number;
  /** Bytes written to files, pipes and terminals. */
  readonly writtenBytes: number;
}

/** Facts about a process from the supervising half; unknown ones are absent. */
export interface ProcessFacts {
  /** The start time in clock ticks since boot, which distinguishes the process from a later one with the same pid. */
  readonly startTicks?: number | undefined;
  readonly work?: WorkSample | undefined;
  /** The names of the `.jsonl` files that the process and its descendants have open, at most 16. */
  readonly files?: readonly string[] | undefined;
}

/** The facts that cost more to collect: each is collected only if it is requested. */
export interface WantedFacts {
  readonly work?: boolean;
  readonly files?: boolean;
}
