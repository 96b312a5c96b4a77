/** One attempt of a wake, as stored in the database. */
export interface Attempt {
  readonly agent: string;
  readonly request: string;
  readonly outcome: string | null;
}

/** The faults in the receipts of one agent, judged by the texts that it took. */
export interface JudgedTexts {
  /** The number of times that it took the text of an attempt again. */
  readonly doubled: number;
  /** Texts reported as submitted that were not taken, or reported as withdrawn that were. */
  readonly false: number;
  /** The texts about which nothing is claimed. */
  readonly unknown: number;
}

export function judgeTexts(attempts: readonly Attempt[], taken: readonly string[]): JudgedTexts {
  const judged = { doubled: 0, false: 0, unknown: 0 };
  for (const { request, outcome } of attempts) {
    const times = timesTaken(request, taken);
    judged.doubled += Math.max(0, times - 1);
    if (isDoubt(outcome)) judged.unknown += 1;
    if (outcome === "submitted" && times === 0) judged.false += 1;
    if (outcome === "cancelled" && times > 0) judged.false += 1;
  }
  return judged;
}

/** How often an agent took the text of an attempt. */
export function timesTaken(request: string, taken: readonly string[]): number {
  return taken.filter((text) => text.startsWith(`[threads ${request}]`)).length;
}

/** Whether the outcome leaves open whether the text was taken. */
export function isDoubt(outcome: string | null): boolean {
  return outcome === "unknown" || outcome === "stranded";
}
