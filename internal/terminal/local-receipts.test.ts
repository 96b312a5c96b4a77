import { mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { machineTime } from "../../test/support/machine-time.ts";
import type { AcceptedNudge } from "../session/nudge-record.ts";
import type { NudgeReceipt } from "../session/types.ts";
import { LocalReceipts } from "./local-receipts.ts";

const DAY_MS = 86_400_000;

let folder: string;
let clock: FakeClock;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gt-receipts-"));
  clock = new FakeClock();
});
afterEach(() => rmSync(folder, { recursive: true }));

/** As the next `gt` has them; `random` 0: looks for old ones at each write. */
const receipts = () => new LocalReceipts(folder, "session", { clock, time: machineTime(clock), random: () => 0 });

function nudge(requestId: string): AcceptedNudge {
  const how = { mode: "wait-idle", priority: "normal", sender: "me" } as const;
  const times = { acceptedAt: clock.now(), expiresAt: clock.now() + 1000 };
  return { requestId, messageHash: "h", message: "m", text: "m", ...how, ...times };
}

/** One that was typed and submitted. */
function keepEnded(requestId: string): void {
  const kept = receipts();
  kept.keep({ type: "accepted", nudge: nudge(requestId) });
  kept.keep({ type: "intent", requestId });
  const nothing = { error: "", sender: "me", queuePosition: 0, evidence: [], timings: {} };
  const receipt: NudgeReceipt = { requestId, outcome: "submitted", ...nothing };
  kept.keep({ type: "ended", receipt, at: clock.now() });
  const [file] = readdirSync(folder);
  if (file !== undefined) utimesSync(join(folder, file), clock.now() / 1000, clock.now() / 1000);
}

it.each([2, -2])("keeps an id after the wall clock has jumped by %i days", (days) => {
  keepEnded("typed");
  clock.jump(days * DAY_MS);
  receipts().keep({ type: "accepted", nudge: nudge("another") });
  expect(receipts().find("typed")?.ended?.receipt.outcome).toBe("submitted");
});

it("forgets an id after 24 hours, and removes its file at some later write", async () => {
  keepEnded("typed");
  await clock.advance(DAY_MS);
  expect(receipts().find("typed")).toBeUndefined();
  await clock.advance(1000);
  receipts().keep({ type: "accepted", nudge: nudge("another") });
  expect(readdirSync(folder)).toHaveLength(1);
});
