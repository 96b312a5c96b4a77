import type { BackJournal } from "./back-journal.ts";

/** A turn that was cut by the end of its process. */
export interface RecoveredTurn {
  readonly turn: string;
  /** The outcome of its crossing; undefined: there was no crossing. */
  readonly outcome: "SUBMITTED" | "UNKNOWN" | undefined;
}

/**
 * Ends the turns that a killed process left open. An intended crossing counts as submitted if it is in the front's
 * journal, otherwise as unknown. Sends nothing.
 */
export function recover(
  journal: BackJournal,
  isTaken: (crossing: { readonly id: string; readonly sha256: string }) => boolean,
): readonly RecoveredTurn[] {
  const outcomes = new Map<string, "SUBMITTED" | "UNKNOWN">();
  for (const { turn, id, sha256 } of journal.openCrossings) {
    const outcome = isTaken({ id, sha256 }) ? "SUBMITTED" : "UNKNOWN";
    journal.append({ type: "receipt", turn, crossing: id, outcome });
    outcomes.set(turn, outcome);
  }
  return journal.openTurns.map((turn) => {
    const outcome = outcomes.get(turn);
    journal.append({ type: "end", turn, outcome: outcome === "UNKNOWN" ? "unknown" : "interrupted", withheld: [] });
    return { turn, outcome };
  });
}
