import { createHash } from "node:crypto";
import type { MachineTime, Moment } from "../base/machine-time.ts";
import { type IdLimits, idsOverLimits, wasTyped } from "./kept-ids.ts";
import type { NudgeMode, NudgePriority, NudgeReceipt } from "./types.ts";

/** A message that was accepted; wall clock in ms. */
export interface AcceptedNudge {
  readonly requestId: string;
  /** Identifies the message; see `hashOf`. */
  readonly messageHash: string;
  /** Empty some time after its end, like `text`. */
  readonly message: string;
  /** The text to be typed. */
  readonly text: string;
  readonly mode: NudgeMode;
  readonly priority: NudgePriority;
  readonly sender: string;
  /** Absent: `ownerOf` derives it. */
  readonly owner?: string;
  /** Absent: 2,000. */
  readonly quietMs?: number;
  readonly acceptedAt: number;
  readonly expiresAt: number;
}

/** The journal's records of messages: enough to end each message truthfully after a crash at any instant. */
export type NudgeRecord =
  | { readonly type: "accepted"; readonly nudge: AcceptedNudge }
  /** Written after the text was staged in tmux and before it is pasted. */
  | { readonly type: "intent"; readonly requestId: string }
  /** The attempt typed nothing; the message is back in the queue. */
  | { readonly type: "withdrawn"; readonly requestId: string }
  | ({ readonly type: "ended" } & NudgeEnd);

/** How and when a nudge ended. */
export interface NudgeEnd {
  readonly receipt: NudgeReceipt;
  /** Wall clock, ms. */
  readonly at: number;
  /** The same time independent of the wall clock, for the record's age; absent in records of older versions. */
  readonly moment?: Moment | undefined;
}

/** One message after a replay of the journal. */
export interface RestoredNudge {
  readonly nudge: AcceptedNudge;
  /** The agent may have it: the process ended before the attempt did. */
  readonly intent: boolean;
  readonly ended?: NudgeEnd | undefined;
}

/** The owner of a message; in an older journal, its sender. Empty: callers could not be distinguished. */
export function ownerOf({ owner, sender }: AcceptedNudge): string {
  return owner ?? (/(?:^|\()unverified\)?$/.test(sender) ? "" : sender);
}

/** SHA-256, base64url: identifies a text that is not kept. */
export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/** An ended message as it is kept: only its hash identifies it. */
export function withoutText(nudge: AcceptedNudge): AcceptedNudge {
  return { ...nudge, message: "", text: "" };
}

/**
 * Replays the records; later ones win. Drops ended messages that are older than `keepMs` or exceed `limits`. Ages are
 * measured by `time`, so a change of the wall clock drops none.
 */
export function restoreNudges(
  records: readonly NudgeRecord[],
  time: MachineTime,
  keepMs: number,
  limits: IdLimits,
): readonly RestoredNudge[] {
  const nudges = new Map<string, RestoredNudge>();
  for (const record of records) {
    if (record.type === "accepted") {
      nudges.set(record.nudge.requestId, { nudge: record.nudge, intent: false });
      continue;
    }
    const id = record.type === "ended" ? record.receipt.requestId : record.requestId;
    const known = nudges.get(id);
    if (known === undefined) continue;
    if (record.type === "ended") nudges.set(id, { ...known, ended: endOf(record) });
    else nudges.set(id, { ...known, intent: record.type === "intent" });
  }
  const open = [...nudges.values()].filter((entry) => entry.ended === undefined);
  const now = time.nowMs();
  const isKept = ({ ended }: RestoredNudge) => ended !== undefined && now - time.atMs(ended.moment) < keepMs;
  const ended = [...nudges.values()].filter(isKept);
  const surplus = idsOverLimits(
    ended,
    ({ nudge, ended: end }) => ({
      owner: ownerOf(nudge),
      wasTyped: end === undefined || wasTyped(end.receipt.outcome),
    }),
    limits,
  );
  const kept = new Set([...open, ...ended.filter((entry) => !surplus.has(entry))]);
  return [...nudges.values()].filter((entry) => kept.has(entry));
}

/** The shortest list of records with the same meaning. */
export function recordsOf(nudges: readonly RestoredNudge[]): readonly NudgeRecord[] {
  return nudges.flatMap(({ nudge, intent, ended }): NudgeRecord[] => [
    { type: "accepted", nudge },
    ...(intent && ended === undefined ? [{ type: "intent" as const, requestId: nudge.requestId }] : []),
    ...(ended === undefined ? [] : [{ type: "ended" as const, ...ended }]),
  ]);
}

export function endOf({ receipt, at, moment }: NudgeEnd): NudgeEnd {
  return { receipt, at, moment };
}
