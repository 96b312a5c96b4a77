import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient } from "@connectrpc/connect";
import { SidecarService } from "../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarTransport } from "../internal/rpc/client/transport.ts";
import { startSidecar, until } from "../test/support/sidecar/sidecar.ts";
import { BENCH_URI, makeCertificates } from "./certificates.ts";
import type { BenchContext } from "./context.ts";
import { cpuMs } from "./proc.ts";
import { type Measured, measured } from "./report/row.ts";
import { interleave, quantile } from "./stats.ts";

/** Prints a screen and more of history, 63 characters a line, then stays silent. */
const PANE =
  'i=0; while [ $i -lt 400 ]; do i=$((i+1)); printf "%06d the quick brown fox jumps over the lazy dog, many times\\n" $i; done; exec sleep 100000';
const LINES = 50;

interface Arm {
  readonly client: Client<typeof SidecarService>;
  readonly pid: () => number;
  /** The number of calls in one round with one caller; twice as many are made with 16 callers. */
  readonly calls: number;
  readonly forks: boolean;
  readonly took: Map<number, { readonly ms: number[]; cpuMs: number }>;
}

/**
 * Measures Peek through the sidecar and through a server that forks tmux, over plaintext and mutual TLS, with one call
 * and with 16 calls at a time.
 */
export async function measurePeek(context: BenchContext): Promise<readonly Measured[]> {
  await using stack = new AsyncDisposableStack();
  const { quick, signal, program, env, say } = context;
  const dir = await mkdtemp(join(tmpdir(), "gt-bench-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const { tlsDir, tls } = await makeCertificates(dir);
  const pane = { program, env, agent: "generic", command: ["sh", "-c", PANE] };
  const plain = stack.use(await startSidecar(pane));
  const secure = stack.use(
    await startSidecar({ ...pane, flags: ["--tls-dir", tlsDir, "--allow-client", `${BENCH_URI}=operate`] }),
  );
  const forking = stack.use(await startPeer("forking-server", join(plain.stateDir, "tmux.sock"), tlsDir));
  const [plainPort = 0, tlsPort = 0] = forking.ports;
  const constant = stack.use(await startPeer("constant-server", String(LINES)));
  const clientOf = (url: string) =>
    createClient(SidecarService, stack.use(sidecarTransport({ baseUrl: url, tls })).transport);
  const secureUrl = secure.url.replace("http:", "https:");
  const [ours, theirs] = quick ? [150, 20] : [500, 60];
  const arm = (client: Arm["client"], pid: () => number, forks = false): Arm => {
    return { client, pid, calls: forks ? theirs : ours, forks, took: new Map() };
  };
  const arms = {
    plain: arm(plain.client, plain.servingPid),
    plainFork: arm(clientOf(`http://127.0.0.1:${plainPort}`), () => forking.pid, true),
    constant: arm(clientOf(`http://127.0.0.1:${constant.ports[0]}`), () => constant.pid),
    tls: arm(clientOf(secureUrl), secure.servingPid),
    tlsFork: arm(clientOf(`https://127.0.0.1:${tlsPort}`), () => forking.pid, true),
  };
  const all = Object.values(arms);
  for (const each of all) {
    await until("a full pane", 10_000, async () => ((await peek(each)).includes("000400 the") ? true : undefined));
    await batch(each, 1, each.forks ? 20 : 600, signal);
    each.took.clear();
  }
  for (const callers of [1, 16]) {
    say(`peek: ${LINES} lines, ${callers} at a time`);
    const run = (each: Arm) => () => batch(each, callers, callers === 1 ? each.calls : each.calls * 2, signal);
    await interleave(quick ? 3 : 5, all.map(run), signal);
  }
  const rows = [...rowsOf("plaintext", arms.plain, arms.plainFork), ...rowsOf("mTLS", arms.tls, arms.tlsFork)];
  return [...rows, ...besideConstant(arms.plain, arms.constant)];
}

function besideConstant(ours: Arm, constant: Arm): readonly Measured[] {
  return [1, 16].map((callers) => {
    const name = `peek ${LINES} lines, plaintext, c=${callers}: CPU of the server per call (baseline: Connect, a constant answer)`;
    const isAim = callers === 1;
    const [value, baseline] = [ours, constant].map((arm) => cpuPerCall(arm.took.get(callers)));
    return measured(name, value ?? 0, "µs", { baseline: baseline ?? 0, ratioAtMost: isAim ? 1.15 : undefined });
  });
}

function cpuPerCall(took: { readonly ms: readonly number[]; readonly cpuMs: number } | undefined): number {
  return took === undefined ? Number.NaN : (took.cpuMs * 1000) / took.ms.length;
}

function rowsOf(line: string, ours: Arm, theirs: Arm): readonly Measured[] {
  return [1, 16].flatMap((callers) => {
    const [a, b] = [ours.took.get(callers), theirs.took.get(callers)];
    if (a === undefined || b === undefined) return [];
    const name = (what: string) => `peek ${LINES} lines, ${line}, c=${callers}: ${what}`;
    const isAim = callers === 1;
    return [
      measured(name("p50"), quantile(a.ms, 0.5), "ms", { baseline: quantile(b.ms, 0.5), ratioAtMost: 0.25 }),
      measured(name("p99"), quantile(a.ms, 0.99), "ms", {
        baseline: quantile(b.ms, 0.99),
        atMost: isAim ? 10 : undefined,
      }),
      measured(name("CPU of the server per call"), cpuPerCall(a), "µs", { baseline: cpuPerCall(b), atMost: 450 }),
    ];
  });
}

async function peek(arm: Arm): Promise<string> {
  const { output } = await arm.client.peek({ lines: LINES }, { timeoutMs: 20_000 });
  return output;
}

async function batch(arm: Arm, callers: number, calls: number, signal: AbortSignal): Promise<void> {
  const took = arm.took.get(callers) ?? { ms: [], cpuMs: 0 };
  arm.took.set(callers, took);
  const before = cpuMs(arm.pid(), arm.forks);
  let left = calls;
  const caller = async () => {
    while (left-- > 0) {
      signal.throwIfAborted();
      const startedAt = performance.now();
      const output = await peek(arm);
      took.ms.push(performance.now() - startedAt);
      if (output.split("\n").length !== LINES) throw new Error(`a peek of ${output.split("\n").length} lines`);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  took.cpuMs += cpuMs(arm.pid(), arm.forks) - before;
}

/** `ports`: its output once it listens. */
async function startPeer(name: string, ...args: string[]) {
  const file = join(import.meta.dirname, `peers/${name}.ts`);
  const child = spawn(process.execPath, [...process.execArgv, file, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await Promise.race([once(child.stdout, "data"), endOf(child)])) as [Buffer];
  const ports = line.toString().trim().split(" ").map(Number);
  return { pid: child.pid ?? 0, ports, [Symbol.asyncDispose]: () => end(child) };
}

async function endOf(child: ChildProcess): Promise<never> {
  const [code] = await once(child, "exit");
  throw new Error(`a server to compare with ended with ${code}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}
