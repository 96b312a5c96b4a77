import type { Message, Thread } from "./types.ts";

export interface Digest {
  readonly text: string;
  /** The seq of the thread's last message. */
  readonly coversSeq: number;
  readonly openFindings: readonly Message[];
  readonly decisions: readonly Message[];
}

const LINE_BYTES = 400;

/**
 * The findings that are open. A `fix_pushed` or `resolved` message closes the finding that it replies to and those in
 * its `metadata.fixes`; a `resolved` that replies to no message closes all.
 */
export function openFindings(messages: readonly Message[]): readonly Message[] {
  const open = new Map<string, Message>();
  for (const message of messages) {
    if (message.eventType === "finding_reported") open.set(message.messageId, message);
    const isFix = message.eventType === "fix_pushed";
    const isEnd = message.eventType === "resolved";
    if (!isFix && !isEnd) continue;
    if (isEnd && message.inReplyTo === undefined) open.clear();
    if (message.inReplyTo !== undefined) open.delete(message.inReplyTo);
    for (const id of fixesOf(message)) open.delete(id);
  }
  return [...open.values()];
}

/**
 * Summarises a thread in at most `maxBytes` of UTF-8: its state, participants, open findings, decisions and newest
 * summary, then as many of its last messages as fit.
 */
export function digestOf(
  thread: Thread,
  participants: readonly { readonly agentId: string; readonly role: string }[],
  messages: readonly Message[],
  maxBytes: number,
): Digest {
  const findings = openFindings(messages);
  const decisions = messages.filter((one) => one.eventType === "decision");
  const head = [
    `Thread ${thread.threadId} ${JSON.stringify(thread.title)}: ${stateWords(thread)}.`,
    `Participants: ${participants.map(({ agentId, role }) => (role === "" ? agentId : `${agentId} (${role})`)).join(", ")}.`,
    ...section("Open findings", findings),
    ...section("Decisions", decisions),
  ];
  const summary = messages.findLast((one) => one.eventType === "summary");
  const rest = messages.filter((one) => one.kind !== "system" && one.seq > (summary?.seq ?? 0));
  if (summary !== undefined)
    head.push(`Summary by ${summary.sender}:`, `- ${truncateText(summary.text, 4 * LINE_BYTES)}`);
  const kept: string[] = [];
  let room = maxBytes - bytes(head.join("\n")) - bytes("\nLast messages:");
  for (const one of rest.toReversed()) {
    const line = lineOf(one);
    room -= bytes(line) + 1;
    if (room < 0) break;
    kept.unshift(line);
  }
  const lines = kept.length === 0 ? head : [...head, "Last messages:", ...kept];
  return {
    text: truncateText(lines.join("\n"), maxBytes),
    coversSeq: thread.lastSeq,
    openFindings: findings,
    decisions,
  };
}

/** Cuts a text to at most `max` bytes of UTF-8 between two characters; a text that is cut ends in `…`. */
export function truncateText(text: string, max: number): string {
  if (bytes(text) <= max) return text;
  let kept = "";
  let room = max - bytes("…");
  for (const character of text) {
    room -= bytes(character);
    if (room < 0) break;
    kept += character;
  }
  return `${kept}…`;
}

function stateWords({ status, statusReason, disputed, needsHumanDecision, owner }: Thread): string {
  const words: string[] = [statusReason === "" ? status : `${status} (${statusReason})`];
  if (disputed) words.push("disputed");
  if (needsHumanDecision) words.push("needs a human decision");
  if (owner !== "") words.push(`owner ${owner}`);
  return words.join(", ");
}

function section(title: string, messages: readonly Message[]): readonly string[] {
  return messages.length === 0 ? [] : [`${title}:`, ...messages.slice(-20).map(lineOf)];
}

function lineOf({ seq, sender, eventType, text, metadata }: Message): string {
  const place = [metadata?.["path"], metadata?.["line"]].filter(
    (one) => typeof one === "string" || typeof one === "number",
  );
  const what = [eventType, place.join(":")].filter((one) => one !== undefined && one !== "").join(" ");
  return `- #${seq} ${sender}${what === "" ? "" : ` ${what}`}: ${truncateText(text.replace(/\s+/gu, " "), LINE_BYTES)}`;
}

function fixesOf({ metadata }: Message): readonly string[] {
  const fixes = metadata?.["fixes"];
  return Array.isArray(fixes) ? fixes.filter((one) => typeof one === "string") : [];
}

function bytes(text: string): number {
  return Buffer.byteLength(text);
}
