/** What a program and everything it started have done so far. */
export interface WorkSample {
  /** Processor time in milliseconds, that of children which have ended included. */
  readonly cpuMs: number;
  /** Bytes written to files, pipes and terminals. */
  readonly writtenBytes: number;
}

/** What the supervising half knows of a process; what it cannot see is missing. */
export interface ProcessFacts {
  /** When it began, in the kernel's ticks since the start of the machine: tells it from a later one with its pid. */
  readonly startTicks?: number;
  readonly work?: WorkSample;
}
