import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { journalLine } from "../../internal/eventlog/journal-lines.ts";
import { openJournal, parseJournalRecord, type SidecarRecord } from "../../internal/sidecar/journal/journal-records.ts";
import { mutate } from "./mutate.ts";
import { type Random, randomFrom } from "./random.ts";

/** A file system in memory: no waits for a disk. */
const IN_MEMORY = "/dev/shm";

/**
 * `check` writes a journal with damage that the seed determines, opens it, and returns what was restored wrongly;
 * undefined if nothing was.
 */
export function journalFuzz(): { readonly check: (seed: number) => string | undefined } & Disposable {
  const dir = mkdtempSync(join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), "gt-fuzz-"));
  return { check: (seed) => checkJournal(dir, seed), [Symbol.dispose]: () => rmSync(dir, { recursive: true }) };
}

function checkJournal(dir: string, seed: number): string | undefined {
  const random = randomFrom(seed);
  const lines = records(random).map((record) => ({ record, whole: journalLine(record), bytes: journalLine(record) }));
  for (let i = random(3); i >= 0; i--) {
    const line = lines[random(lines.length)];
    if (line !== undefined) line.bytes = mutate(line.bytes, random);
  }
  const path = join(dir, "journal.jsonl");
  writeFileSync(path, Buffer.concat(lines.map(({ bytes }) => bytes)), { mode: 0o600 });
  const { journal, restored } = openJournal(path);
  journal.close();
  const strange = restored.nudges.find((record) => parseJournalRecord(record) === undefined);
  if (strange !== undefined) return `restored what is not a record: ${JSON.stringify(strange)}`;
  // A line that an earlier damaged line has swallowed counts as damaged too.
  const isWhole = (index: number) => {
    const line = lines[index];
    const before = lines[index - 1];
    const isSeparate = before === undefined || before.bytes.at(-1) === 0x0a;
    return isSeparate && line?.bytes.equals(line.whole) === true;
  };
  const ended = new Set(
    restored.nudges.flatMap((record) => (record.type === "ended" ? [record.receipt.requestId] : [])),
  );
  const intended = new Set(restored.nudges.flatMap((record) => (record.type === "intent" ? [record.requestId] : [])));
  const waiting = restored.nudges.flatMap((record) => (record.type === "accepted" ? [record.nudge.requestId] : []));
  for (const [index, { record }] of lines.entries()) {
    if (record.type === "ended" && isWhole(index) && !ended.has(record.receipt.requestId))
      return `the end of ${record.receipt.requestId} is lost`;
    // A line that has vanished without a trace cannot be judged.
    if (lines[index]?.bytes.length === 0) continue;
    // A nudge whose text may have been typed must not count as waiting.
    if (record.type === "intent" && waiting.includes(record.requestId) && !ended.has(record.requestId)) {
      if (!intended.has(record.requestId)) return `${record.requestId} may have been typed, and would be typed again`;
    }
  }
  return undefined;
}

function records(random: Random): readonly SidecarRecord[] {
  const all: SidecarRecord[] = [{ type: "stream", epoch: "e", reservedTo: "67108864" }];
  for (let i = 0, count = 1 + random(4); i < count; i++) {
    const requestId = `r${i}`;
    all.push({ type: "accepted", nudge: nudge(requestId) });
    const end = random(3);
    if (end > 0) all.push({ type: "intent", requestId });
    if (end === 2) all.push(ended(requestId));
  }
  all.push({ type: "agent", pid: 7, startedAt: 5, restarts: 1, agentId: "a" });
  all.push({ type: "cursor", epoch: "e", owner: "o", subscriber: "s", seq: "7", moment: { boot: "b", upMs: 9 } });
  all.push({ type: "standing", lines: [1, 2, 3] }, { type: "events", epoch: "e", reservedTo: "256" });
  return all;
}

function nudge(requestId: string) {
  const how = { mode: "wait-idle", priority: "normal", sender: "ann", owner: "ann" } as const;
  return { requestId, messageHash: "h", message: "hello", text: "hello", ...how, acceptedAt: 5, expiresAt: 9 };
}

function ended(requestId: string): SidecarRecord {
  const evidence = [{ source: "hook", value: "took it", ageMs: 1, confidence: "proof" }] as const;
  const receipt = {
    requestId,
    outcome: "submitted",
    error: "",
    sender: "ann",
    queuePosition: 0,
    evidence,
    timings: {},
  } as const;
  return { type: "ended", receipt, at: 6, moment: { boot: "b", upMs: 9 } };
}
