/** A broken promise of one session, and when it was seen. */
export interface Fault {
  /** Wall clock, as in the logs. */
  readonly at: string;
  /** Empty: a fault of the run itself. */
  readonly session: string;
  /** Such as `claude, terminal`. */
  readonly kind: string;
  readonly text: string;
}

/** Receives each fault at once, so that even an interrupted run has reported its faults. */
export type TakeFault = (fault: Fault) => void;

export function faultLine({ at, session, kind, text }: Fault): string {
  return `fault at ${at}${session === "" ? "" : `, ${session} (${kind})`}: ${text}`;
}
