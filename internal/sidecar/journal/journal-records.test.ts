import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ofAgent, openJournal, parseJournalRecord, type SidecarRecord } from "./journal-records.ts";

const nudge = {
  requestId: "r",
  messageHash: "h",
  message: "m",
  text: "m",
  mode: "wait-idle",
  priority: "normal",
  sender: "s",
  acceptedAt: 1,
  expiresAt: 2,
} as const;
const evidence = [{ source: "hook", value: "v", ageMs: 1, confidence: "proof" }] as const;
const receipt = {
  requestId: "r",
  outcome: "submitted",
  error: "",
  sender: "s",
  queuePosition: 0,
  evidence,
  timings: { queuedMs: 1 },
} as const;
const RECORDS: readonly SidecarRecord[] = [
  { type: "accepted", nudge },
  { type: "intent", requestId: "r" },
  { type: "withdrawn", requestId: "r" },
  { type: "ended", receipt, at: 5, moment: { boot: "b", upMs: 7 } },
  { type: "stream", epoch: "e", reservedTo: "67108864" },
  { type: "agent", pid: 1, startedAt: 2, restarts: 3 },
  { type: "events", epoch: "e", reservedTo: "256" },
  { type: "cursor", epoch: "e", subscriber: "s", seq: "7", moment: { boot: "b", upMs: 7 } },
  { type: "standing", lines: [1, 2 ** 52] },
  { type: "standing", lines: [1], isOpen: true },
];

it.each(RECORDS)("reads a record of the type $type unchanged", (record) => {
  expect(parseJournalRecord(JSON.parse(JSON.stringify(record)))).toEqual(record);
});

describe("a record that we would not write is ignored", () => {
  it.each([
    ["nothing", null],
    ["a text", "accepted"],
    ["a list", [{ type: "intent" }]],
    ["no type", { requestId: "r" }],
    ["another type", { type: "toString" }],
    ["a prototype's property name", { type: "__proto__" }],
    ["no nudge", { type: "accepted" }],
    ["another mode", { type: "accepted", nudge: { ...nudge, mode: "now" } }],
    ["an invalid time", { type: "accepted", nudge: { ...nudge, expiresAt: "2" } }],
    ["no id", { type: "intent" }],
    ["an id that no request may have", { type: "intent", requestId: "a;b" }],
    ["a text above the limit", { type: "accepted", nudge: { ...nudge, text: "x".repeat(200_000) } }],
    ["another outcome", { type: "ended", at: 5, receipt: { ...receipt, outcome: "lost" } }],
    ["an invalid moment", { type: "ended", at: 5, receipt, moment: { boot: "b", upMs: -1 } }],
    ["invalid evidence", { type: "ended", at: 5, receipt: { ...receipt, evidence: [null] } }],
    [
      "evidence without an age",
      { type: "ended", at: 5, receipt: { ...receipt, evidence: [{ ...evidence[0], ageMs: "x" }] } },
    ],
    ["half a millisecond", { type: "ended", at: 5, receipt: { ...receipt, timings: { typedMs: 0.5 } } }],
    ["an invalid time of a step", { type: "ended", at: 5, receipt: { ...receipt, timings: { typedMs: "1" } } }],
    ["an invalid offset", { type: "stream", epoch: "e", reservedTo: "-1" }],
    ["an offset that is too large", { type: "stream", epoch: "e", reservedTo: "9".repeat(20) }],
    ["an invalid number", { type: "events", epoch: "e", reservedTo: 5 }],
    ["a position without an owner", { type: "cursor", epoch: "e", seq: "7", at: 5 }],
    ["lines that are not hashes", { type: "standing", lines: ["a"] }],
    ["a number of open lines", { type: "standing", lines: [1], isOpen: 1 }],
    ["more lines than a screen has", { type: "standing", lines: Array(301).fill(1) }],
    ["an agent without a pid", { type: "agent", startedAt: 1, restarts: 1 }],
  ])("%s", (_, value) => {
    expect(parseJournalRecord(value)).toBeUndefined();
  });
});

it("returns from the journal the end of each nudge, and the last of everything else", () => {
  const dir = mkdtempSync(join(tmpdir(), "gt-records-"));
  try {
    const path = join(dir, "journal");
    const { journal, restored } = openJournal(path);
    expect(restored).toEqual({ nudges: [], events: { cursors: [], standing: { lines: [] } } });
    for (const record of RECORDS) journal.append(record);
    journal.append({ type: "agent", pid: 9, startedAt: 9, restarts: 4 });
    journal.close();
    const again = openJournal(path);
    again.journal.close();
    expect(again.damaged).toBe(0);
    expect(again.restored.nudges).toEqual([
      { type: "accepted", nudge: { ...nudge, message: "", text: "" } },
      { type: "ended", receipt, at: 5, moment: { boot: "b", upMs: 7 } },
    ]);
    expect(again.restored.stream?.reservedTo).toBe("67108864");
    expect(again.restored.agent?.pid).toBe(9);
    expect(again.restored.events).toEqual({
      reservation: { epoch: "e", reservedTo: 256n },
      cursors: [{ owner: "", subscriber: "s", seq: 7n, moment: { boot: "b", upMs: 7 } }],
      standing: { lines: [1], isOpen: true },
    });
  } finally {
    rmSync(dir, { recursive: true });
  }
});

describe("the journal's record of an agent's run", () => {
  const events = {} as ReturnType<typeof openJournal>["restored"]["events"];
  const agent = { type: "agent", pid: 7, startedAt: 1, restarts: 3, agentId: "a", stopping: true } as const;

  it.each([
    ["applies to the same agent", "a", agent],
    ["applies until the agent's id is known", undefined, agent],
    ["does not apply to another agent", "b", { type: "agent", pid: 0, startedAt: 50, restarts: 0, agentId: "b" }],
  ])("%s", (_, id, expected) => {
    expect(ofAgent({ nudges: [], events, agent }, id, 50).agent).toEqual(expected);
  });
});
