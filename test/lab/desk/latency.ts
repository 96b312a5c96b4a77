import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { median } from "../../../bench/stats.ts";
import { DESK, type DeskBed, deskBed, PLAIN_ENVIRONMENT } from "../../support/desk/desk-bed.ts";

/** An administrator's waiting times, medians, ms. */
export interface LatencyFigures {
  /** From the command to the first event of a turn whose text waits on stdin; the front is already running. */
  readonly startMs: number;
  /** The same while no front is running: it is started first. */
  readonly coldStartMs: number;
  /** From a typed line to the line in the front's journal. */
  readonly crossingMs: number;
}

/** Starts a desk `count` times, and sends as many texts across one after the other. */
export async function measureLatency(count: number): Promise<LatencyFigures> {
  await using bed = deskBed();
  await bed.run(["--mode", "admin"], "exit\n");
  const warm = await startTimes(bed, count, async () => {});
  const cold = await startTimes(bed, count, () => bed.endFronts());
  return {
    startMs: median(warm),
    coldStartMs: median(cold),
    crossingMs: median(await crossingTimes(bed, count)),
  };
}

async function startTimes(bed: DeskBed, count: number, before: () => Promise<void>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    await before();
    const begun = performance.now();
    using desk = open(bed);
    desk.say("read /admin/prices.md");
    await once(desk.stdout, "data");
    times.push(performance.now() - begun);
  }
  return times;
}

async function crossingTimes(bed: DeskBed, count: number): Promise<readonly number[]> {
  using desk = open(bed);
  desk.stdout.resume();
  const journal = bed.path(".desk/front/journal.jsonl");
  const times: number[] = [];
  // The first text opens the connection.
  for (let i = 0; i <= count; i++) {
    const begun = performance.now();
    desk.say(`tell customers this is number ${i}.`);
    while (!readFileSync(journal, "utf8").includes(`this is number ${i}.`)) await turn();
    times.push(performance.now() - begun);
  }
  return times.slice(1);
}

function open(bed: DeskBed) {
  const child = spawn(DESK, ["--mode", "admin", "--jsonl"], {
    ...{ cwd: bed.folder, env: PLAIN_ENVIRONMENT, stdio: ["pipe", "pipe", "ignore"] },
  });
  child.stdin.on("error", () => {});
  return {
    stdout: child.stdout,
    say: (text: string) => void child.stdin.write(`${JSON.stringify({ text })}\n`),
    [Symbol.dispose]: () => void child.kill("SIGKILL"),
  };
}
