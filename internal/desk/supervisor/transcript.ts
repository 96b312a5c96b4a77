import { closeSync, constants } from "node:fs";
import { readJournalLines } from "../../eventlog/journal-lines.ts";
import { isMissing } from "../../files/named-file.ts";
import { openPlainFile } from "../../files/plain-file.ts";
import { type BackRecord, parseBackRecord } from "./back-records.ts";

/** One recorded turn. */
export interface TurnRecord {
  readonly turn: string;
  readonly at: string;
  readonly thread: string;
  readonly input: string;
  decision?: { readonly route: string; readonly rule: number | string; readonly reason: string };
  readonly reads: {
    readonly path: string;
    readonly ok: boolean;
    readonly reason?: string | undefined;
    readonly bytes?: number | undefined;
  }[];
  crossing?: {
    readonly id: string;
    readonly thread: string;
    readonly bytes: number;
    readonly sha256: string;
    /** The whole text that crossed. */
    readonly admin_input: string;
    outcome: string;
    reason?: string;
  };
  /** The customer agent's words. */
  reply?: string;
  answer?: string;
  /** Channels of the state that did not cross, and their sizes. */
  withheld: readonly { readonly channel: string; readonly bytes: number }[];
  outcome: string;
}

/**
 * Reads the turns in the back's journal, oldest first; none if there is no journal. The journal's writer may be
 * running.
 */
export function readTranscript(path: string): readonly TurnRecord[] {
  let fd: number;
  try {
    fd = openPlainFile(path, constants.O_RDONLY);
  } catch (err) {
    if (isMissing(err)) return [];
    throw err;
  }
  try {
    const turns = new Map<string, TurnRecord>();
    for (const line of readJournalLines(fd)) {
      const record = line.type === "record" ? parseBackRecord(JSON.parse(line.json)) : undefined;
      if (record !== undefined) take(turns, record);
    }
    return [...turns.values()];
  } finally {
    closeSync(fd);
  }
}

function take(turns: Map<string, TurnRecord>, record: BackRecord): void {
  if (record.type === "turn") {
    const { turn, at, thread, input } = record;
    turns.set(turn, { turn, at, thread, input, reads: [], withheld: [], outcome: "running or interrupted" });
    return;
  }
  const turn = turns.get(record.turn);
  if (turn !== undefined) note(turn, record);
}

function note(turn: TurnRecord, record: Exclude<BackRecord, { type: "turn" }>): void {
  switch (record.type) {
    case "forgotten":
      return;
    case "decision":
      turn.decision = { route: record.route, rule: record.rule, reason: record.reason };
      return;
    case "read": {
      const { path, ok, reason, bytes } = record;
      turn.reads.push({ path, ok, reason, bytes });
      return;
    }
    case "intended": {
      const { crossing: id, thread, bytes, sha256 } = record;
      turn.crossing = { id, thread, bytes, sha256, admin_input: turn.input, outcome: "UNKNOWN" };
      return;
    }
    case "receipt":
      if (turn.crossing === undefined) return;
      turn.crossing.outcome = record.outcome;
      if (record.reason !== undefined) turn.crossing.reason = record.reason;
      return;
    case "reply":
      turn.reply = record.text;
      return;
    case "answer":
      turn.answer = record.text;
      return;
    case "end":
      turn.outcome = record.outcome;
      turn.withheld = record.withheld;
      return;
  }
}
