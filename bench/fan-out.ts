import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TlsMaterial } from "../internal/rpc/common/tls.ts";
import { until } from "../test/support/sidecar/sidecar.ts";
import { makeCertificates } from "./certificates.ts";
import type { BenchContext } from "./context.ts";
import { anonymousMiB, cpuMs } from "./proc.ts";
import { type Protocol, RawWatchers } from "./raw-watchers.ts";
import { type Measured, measured } from "./report/row.ts";
import { quantile } from "./stats.ts";

interface Server extends AsyncDisposable {
  readonly pid: number;
  readonly plainUrl: string;
  readonly tlsUrl: string;
  tell(order: string): Promise<void>;
}

interface Layout {
  readonly streams: number;
  readonly connections: number;
  readonly secure: boolean;
}

interface Figures {
  readonly cpuUs: number;
  readonly p50: number;
  readonly p99: number;
}

const LAYOUTS: readonly Layout[] = [false, true].flatMap((secure) => [
  { streams: 100, connections: 10, secure },
  { streams: 100, connections: 100, secure },
  { streams: 500, connections: 10, secure },
  { streams: 500, connections: 500, secure },
]);
const PROTOCOLS: readonly Protocol[] = ["connect", "grpc", "grpc-web"];

/**
 * Measures many watchers of one stream of 1 KiB pieces: CPU per delivery, latency and memory, compared with a handler
 * that shares nothing.
 */
export async function measureWatchers(context: BenchContext): Promise<readonly Measured[]> {
  const { quick, signal, say } = context;
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "gt-bench-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const { tlsDir, tls } = await makeCertificates(dir);
  const server = stack.use(await startServer(tlsDir));
  const rows: Measured[] = [];
  const pieces = quick ? 15 : 30;
  for (const layout of quick ? LAYOUTS.filter(({ streams }) => streams === 100) : LAYOUTS) {
    const name = `${layout.streams} watchers, ${layout.connections} connections, ${layout.secure ? "mTLS" : "plaintext"}`;
    say(`watchers: ${name}`);
    await deliver(server, tls, layout, "connect", false, 5); // the first run pays for the warm-up
    const naive = await deliver(server, tls, layout, "connect", true, pieces);
    for (const protocol of PROTOCOLS) {
      signal.throwIfAborted();
      const shared = await deliver(server, tls, layout, protocol, false, pieces);
      rows.push(...rowsOf(`${name}, ${protocol}`, shared, naive, layout.streams / layout.connections));
    }
  }
  rows.push(...(await measureIdle(server, tls, quick)));
  return rows;
}

function rowsOf(name: string, shared: Figures, naive: Figures, each: number): readonly Measured[] {
  return [
    measured(`${name}: CPU per delivery of 1 KiB (baseline: made for each)`, shared.cpuUs, "µs", {
      baseline: naive.cpuUs,
      atMost: each >= 50 ? 20 : each === 1 ? 50 : undefined,
    }),
    measured(`${name}: latency p50`, shared.p50, "ms", { baseline: naive.p50 }),
    measured(`${name}: latency p99`, shared.p99, "ms", { baseline: naive.p99 }),
  ];
}

async function deliver(
  server: Server,
  tls: TlsMaterial,
  layout: Layout,
  protocol: Protocol,
  naive: boolean,
  pieces: number,
): Promise<Figures> {
  await using watchers = await open(server, tls, layout, protocol, naive);
  const before = cpuMs(server.pid);
  await server.tell(`push ${pieces}`);
  const wanted = pieces * layout.streams;
  await until("all deliveries", 20_000, () => watchers.marks.length >= wanted || undefined);
  const lags = watchers.marks.map((mark) => mark.readAt - mark.writtenAt);
  return {
    cpuUs: ((cpuMs(server.pid) - before) * 1000) / wanted,
    p50: quantile(lags, 0.5),
    p99: quantile(lags, 0.99),
  };
}

function open(server: Server, tls: TlsMaterial, layout: Layout, protocol: Protocol, naive: boolean) {
  const { streams, connections, secure } = layout;
  const url = secure ? server.tlsUrl : server.plainUrl;
  return RawWatchers.open({ url, tls: secure ? tls : undefined, protocol, connections, streams, naive });
}

async function measureIdle(server: Server, tls: TlsMaterial, quick: boolean): Promise<readonly Measured[]> {
  const layout = { streams: quick ? 200 : 1000, connections: 10, secure: true };
  const perStream = async (naive: boolean) => {
    await server.tell("settle");
    const before = anonymousMiB(server.pid);
    await using _ = await open(server, tls, layout, "connect", naive);
    await server.tell("settle");
    return ((anonymousMiB(server.pid) - before) * 1024) / layout.streams;
  };
  const shared = await perStream(false);
  const naive = await perStream(true);
  return [measured("watchers: memory of an idle stream (baseline: made for each)", shared, "KiB", { baseline: naive })];
}

async function startServer(tlsDir: string): Promise<Server> {
  const file = join(import.meta.dirname, "peers/watch-server.ts");
  const child = spawn(process.execPath, [...process.execArgv, "--expose-gc", file, tlsDir], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const waiting: ((line: string) => void)[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => waiting.shift()?.(line));
  const line = () => new Promise<string>((resolve) => waiting.push(resolve));
  const [plain, secure] = (await line()).split(" ");
  return {
    pid: child.pid ?? 0,
    plainUrl: `http://127.0.0.1:${plain}`,
    tlsUrl: `https://127.0.0.1:${secure}`,
    tell: async (order) => {
      child.stdin.write(`${order}\n`);
      await line();
    },
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    },
  };
}
