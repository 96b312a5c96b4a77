import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { STANDBY } from "../cmd/gt-sidecar/standby.ts";
import { type RunningSidecar, startSidecar, until } from "../test/support/sidecar/sidecar.ts";
import type { BenchContext } from "./context.ts";
import { anonymousMiB, childrenOf, residentMiB, tmuxPid } from "./proc.ts";
import { type Measured, measured } from "./report/row.ts";
import { interleave, median, quantile } from "./stats.ts";

const IDLE_MS = 5000;

/** Measures the bundle's time until it serves, its memory when idle, and how soon a killed serving half is back. */
export async function measureStart(context: BenchContext): Promise<readonly Measured[]> {
  return [...(await startUp(context)), ...(await memoryAndCrashes(context))];
}

async function startUp({ program, env, quick, signal, say }: BenchContext): Promise<readonly Measured[]> {
  say("start: process start to ready");
  const listening: number[] = [];
  const ready: number[] = [];
  const bare: number[] = [];
  const ours = async () => {
    const at = performance.now();
    await using sidecar = await startSidecar({ program, env, agent: "generic", command: ["sleep", "100000"] });
    // Uses the time in the log: the delay until we read it is not the sidecar's.
    listening.push(loggedAt(sidecar, "serving") - (performance.timeOrigin + at));
    await until("readiness", 10_000, async () => (await fetch(`${sidecar.healthUrl}/readyz`)).ok || undefined);
    ready.push(performance.now() - at);
  };
  const theirs = async () => {
    const at = performance.now();
    const child = spawn(process.execPath, ["-e", "process.stdout.write('x')"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    bare.push(performance.now() - at);
    await once(child, "exit");
  };
  await interleave(quick ? 4 : 12, [ours, theirs], signal);
  const baseline = median(bare);
  return [
    measured("start: process start to listening, p50 (baseline: bare node)", median(listening), "ms", { baseline }),
    measured("start: process start to ready, p50 (baseline: bare node)", median(ready), "ms", {
      baseline,
      atMost: 400,
    }),
  ];
}

async function memoryAndCrashes({ program, env, quick, signal, say }: BenchContext): Promise<readonly Measured[]> {
  say("start: idle memory");
  await using sidecar = await startSidecar({ program, env });
  const bare = spawn(process.execPath, ["-e", "setTimeout(() => {}, 1e9)"], { stdio: "ignore" });
  try {
    await sleep(IDLE_MS, undefined, { signal });
    const [supervising, serving] = [sidecar.process.pid ?? 0, sidecar.servingPid()].map(anonymousMiB);
    const spare = childrenOf(sidecar.process.pid ?? 0).find((pid) => isSpare(pid, sidecar.servingPid()));
    const idle = anonymousMiB(bare.pid ?? 0);
    const tmux = residentMiB(tmuxPid(join(sidecar.stateDir, "tmux.sock")));
    const total = (supervising ?? 0) + (serving ?? 0);
    return [
      measured("memory, idle: both halves, anonymous (baseline: 2 bare node)", total, "MiB", {
        baseline: 2 * idle,
        atMost: 64,
      }),
      measured("memory, idle: serving half, anonymous", serving ?? 0, "MiB", { baseline: idle }),
      measured("memory, idle: supervising half, anonymous", supervising ?? 0, "MiB", { baseline: idle }),
      measured(
        "memory, idle: the next serving half, which waits with its code loaded",
        anonymousMiB(spare ?? 0),
        "MiB",
        {
          baseline: idle,
        },
      ),
      measured("memory, idle: tmux, resident", tmux, "MiB"),
      ...(await crashes(sidecar, quick ? 5 : 20, signal, say)),
    ];
  } finally {
    bare.kill("SIGKILL");
  }
}

async function crashes(sidecar: RunningSidecar, count: number, signal: AbortSignal, say: BenchContext["say"]) {
  say(`start: kill -9 of the serving half, ${count} times`);
  const away: number[] = [];
  for (let i = 0; i < count; i++) {
    await sleep(1000 + 37 * i, undefined, { signal });
    const pid = sidecar.servingPid();
    process.kill(pid, "SIGKILL");
    const at = performance.now();
    await until("the serving half to be back", 10_000, async () => {
      const status = await sidecar.client.status({}, { timeoutMs: 500 }).catch(() => undefined);
      return status?.sessionAlive === true && sidecar.servingPid() !== pid ? true : undefined;
    });
    away.push(performance.now() - at);
  }
  return [
    measured("kill -9 of the serving half: service back, p50", median(away), "ms"),
    measured("kill -9 of the serving half: service back, longest", quantile(away, 1), "ms", { atMost: 1000 }),
  ];
}

function isSpare(pid: number, serving: number): boolean {
  return pid !== serving && readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(STANDBY);
}

/** The wall clock, ms, of the first log line with this message. */
function loggedAt(sidecar: RunningSidecar, message: string): number {
  const line = sidecar
    .log()
    .split("\n")
    .find((text) => text.includes(`"msg":"${message}"`));
  return Date.parse(JSON.parse(line ?? "{}").time);
}
