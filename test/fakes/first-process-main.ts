// The first process of a pid namespace under load: starts children in three ways at the same time, each of which exits
// with a known code and leaves an orphan behind, and prints the results as one line of JSON.
//
//   first-process-main.ts COUNT    COUNT by child_process, at most 1000 each by a worker's and in a pty
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { spawn as spawnPty } from "@lydell/node-pty";
import { systemClock } from "../../internal/base/clock.ts";
import { linuxChildren } from "../../internal/process/linux-children.ts";
import { Reaper } from "../../internal/process/reaper.ts";

const AT_ONCE = 20;
const OTHERS_MOST = 1000;
/** Much longer than the reaper waits. */
const STALL_MS = 1500;

const script = (code: number): string[] => ["-c", `(sleep 0.05 &); exit ${code}`];

async function byNode(code: number): Promise<number | null> {
  await nextTurn(); // children that are started from `exit` handlers would keep Node from its timers
  return new Promise((resolve, reject) => {
    const child = spawn("sh", script(code), { stdio: "ignore" });
    child.on("error", reject);
    child.on("exit", resolve);
  });
}

/** A pty's child is forked on this thread and waited for on a thread of the pty's own, unknown to Node. */
async function byPty(code: number): Promise<number | null> {
  await nextTurn();
  return new Promise((resolve) => {
    spawnPty("sh", script(code), {}).onExit(({ exitCode }) => resolve(exitCode));
  });
}

/** The number of children that ended with a wrong code. */
async function wrongCodes(count: number, start: (code: number) => Promise<number | null>): Promise<number> {
  let next = 0;
  let wrong = 0;
  const lane = async () => {
    while (next < count) {
      const code = next++ % 256;
      if ((await start(code)) !== code) wrong++;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return wrong;
}

/** Children that end long before their parent thread looks. */
async function byBusyThread(): Promise<number> {
  const codes = wrongCodes(AT_ONCE, byNode);
  await sleep(20);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS);
  return await codes;
}

function byWorker(count: number): Promise<number> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { count } });
  return new Promise((resolve, reject) => {
    worker.on("message", resolve);
    worker.on("error", reject);
  });
}

function zombies(): number {
  const states = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/stat`, "latin1").replace(/^.*\) /s, "")[0];
      } catch {
        return "";
      }
    });
  return states.filter((state) => state === "Z").length;
}

async function main(count: number): Promise<void> {
  const reaper = new Reaper(systemClock, await linuxChildren());
  const stop = new AbortController();
  const reaping = reaper.run(stop.signal);
  const other = Math.min(count, OTHERS_MOST);
  const startedAt = performance.now();
  const [node, worker, pty] = await Promise.all([wrongCodes(count, byNode), byWorker(other), wrongCodes(other, byPty)]);
  const stormMs = Math.round(performance.now() - startedAt);
  const deadline = performance.now() + 10_000;
  while (zombies() > 0 && performance.now() < deadline) await sleep(50);
  const idleFrom = process.cpuUsage();
  await sleep(2000);
  const idle = process.cpuUsage(idleFrom);
  const { user, system } = process.cpuUsage();
  const report = {
    pid: process.pid,
    children: count + 2 * other,
    wrong: { node, worker, pty },
    reaped: reaper.reaped,
    zombies: zombies(),
    stormMs,
    cpuMs: Math.round((user + system) / 1000),
    idleCpuMsPerSecond: Math.round((idle.user + idle.system) / 2000),
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
  stop.abort();
  await reaping;
}

if (isMainThread) {
  await main(Number(process.argv[2] ?? 300));
  process.exit(0);
}
const { count } = workerData as { readonly count: number };
const stalled = await byBusyThread();
parentPort?.postMessage(stalled + (await wrongCodes(count, byNode)));
