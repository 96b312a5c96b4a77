import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../../fuzz/random.ts";
import { DESK, type DeskBed, deskBed, PLAIN_ENVIRONMENT, parseJsonLines } from "../../support/desk/desk-bed.ts";

/** The results of a run of kills. */
export interface KillFigures {
  kills: number;
  texts: number;
  submitted: number;
  unknown: number;
  /** Texts whose outcome was false: refused but in the front's journal, or twice there, or submitted but missing. */
  readonly wrong: string[];
}

/** Kills one half of a desk `count` times while texts cross, and compares the outcomes with what arrived. */
export async function killWhileCrossing(count: number, random: Random): Promise<KillFigures> {
  await using bed = deskBed();
  const figures: KillFigures = { kills: 0, texts: 0, submitted: 0, unknown: 0, wrong: [] };
  await bed.run(["--mode", "admin"], "exit\n");
  for (let round = 0; round < count; round++) {
    await crossAndKill(bed, round, random);
    figures.kills++;
  }
  await bed.run(["--mode", "admin"], "exit\n"); // ends the turns that were cut
  judge(figures, await transcriptOf(bed), arrivedIn(bed));
  return figures;
}

async function crossAndKill(bed: DeskBed, round: number, random: Random): Promise<void> {
  const child = spawn(DESK, ["--mode", "admin", "--jsonl"], {
    ...{ cwd: bed.folder, env: PLAIN_ENVIRONMENT, stdio: ["pipe", "pipe", "ignore"] },
  });
  const ended = once(child, "exit");
  child.stdin.on("error", () => {});
  const lines = Array.from({ length: 40 }, (_, i) => JSON.stringify({ text: `tell customers text ${round}-${i}` }));
  child.stdin.write(`${lines.join("\n")}\n`);
  await once(child.stdout, "data"); // texts cross now
  child.stdout.resume();
  await sleep(random(60));
  const isBack = round % 2 === 0;
  for (const pid of isBack ? [child.pid ?? 0] : bed.fronts()) process.kill(pid, "SIGKILL");
  if (!isBack) child.stdin.end();
  await ended;
}

interface TranscriptEntry {
  readonly input: string;
  readonly crossing?: { readonly outcome: string };
}

async function transcriptOf(bed: DeskBed): Promise<readonly TranscriptEntry[]> {
  const { out } = await bed.run(["transcript", "--json"]);
  return parseJsonLines(out) as unknown as readonly TranscriptEntry[];
}

function arrivedIn(bed: DeskBed): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { type, admin_input } of bed.records("front")) {
    if (type === "crossing") counts.set(String(admin_input), (counts.get(String(admin_input)) ?? 0) + 1);
  }
  return counts;
}

function judge(figures: KillFigures, told: readonly TranscriptEntry[], arrived: ReadonlyMap<string, number>): void {
  for (const { input, crossing } of told) {
    const times = arrived.get(input) ?? 0;
    const outcome = crossing?.outcome ?? "none";
    figures.texts++;
    if (outcome === "SUBMITTED") figures.submitted++;
    if (outcome === "UNKNOWN") figures.unknown++;
    const isTrue = outcome === "SUBMITTED" ? times === 1 : outcome === "UNKNOWN" ? times <= 1 : times === 0;
    if (!isTrue) figures.wrong.push(`${input}: ${outcome}, arrived ${times} times`);
  }
}
