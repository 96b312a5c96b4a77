import { mkdtemp, rm } from "node:fs/promises";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@connectrpc/connect";
import { execa } from "execa";
import { errorText } from "../../internal/base/errors.ts";
import { parseFlags } from "../../internal/cli/flags.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import { writeTls } from "../../test/support/bridge/secret.ts";
import { type RunningSidecar, startSidecar } from "../../test/support/sidecar/sidecar.ts";
import { anonymousMiB } from "../proc.ts";
import { writeResults } from "../report/results.ts";
import { type Measured, measured } from "../report/row.ts";
import { runFacts, runLine, table } from "../report/run-report.ts";
import { median, quantile } from "../stats.ts";
import { type FloodCounts, type FloodKind, type FloodOrder, KINDS, WORDS } from "./kinds.ts";

const help = `Holds thousands of connections to a sidecar with TLS, one kind after another. Measures how long a probe of the health
port and an operator's Peek take meanwhile, and the memory of the serving half. Exits 1 if an aim is missed.

Usage: npm run floods -- [flags]

  --seconds N       how long the connections of each kind are held (120)
  --connections N   connections of each kind (4000); the floods of resets use 50 clients
  --only WORD       only the kinds whose names contain this word: ${KINDS.map(({ name }) => name).join("; ")}
  --write           stores the figures in bench/results and regenerates bench/RESULTS.md
`;

const PROBE_MS = 500;
const PEEK_MS = 250;
/** The limit of memory growth from the second third to the last. In the first, the connections are still being made. */
const GROWTH = 1.15;
const CALL_MS = 5000;
const EACH_MS = 50;
const SPIFFE = "spiffe://town.example";

await runMain({ name: "floods" }, async ({ argv, stdout, stderr, signal }) => {
  const specs = {
    seconds: { type: "number" },
    connections: { type: "number" },
    only: { type: "string" },
    write: { type: "boolean" },
  } as const;
  const { ask, values } = parseFlags(specs, argv, {});
  if (ask !== undefined) {
    stdout.write(help);
    return 0;
  }
  const { seconds = 120, connections = 4000, only = "" } = values;
  const facts = runFacts();
  const rows: Measured[] = [];
  const say = (text: string) => void stderr.write(`${text}\n`);
  for (const kind of KINDS.filter(({ name }) => name.includes(only))) {
    signal.throwIfAborted();
    say(kind.name);
    rows.push(...(await flood(kind, kind.clients ?? connections, seconds * 1000, say, signal)));
  }
  stdout.write(`${table(rows)}\n`);
  if (values.write) {
    const about = `${connections} connections of each kind for ${seconds} s, from another address; resets: 50 clients; a probe is a new connection to the health port`;
    writeResults("floods", { run: runLine(facts), rows, notes: [about] });
  }
  return rows.every(({ aim }) => aim === undefined || aim.met) ? 0 : 1;
});

async function flood(
  kind: FloodKind,
  count: number,
  ms: number,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<readonly Measured[]> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "gt-floods-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const ca = new TestCa("town");
  const of = (name: string) => ca.issue({ uris: [`${SPIFFE}/client/${name}`] });
  await writeTls(join(dir, "tls"), {
    ...ca.issue({ uris: [`${SPIFFE}/ns/agents/session/s1`], ips: ["127.0.0.1"] }),
    ca: ca.pem,
  });
  const roles = ["operator=operate", "reader=read"].flatMap((role) => ["--allow-client", `${SPIFFE}/client/${role}`]);
  const sidecar = await startSidecar({ flags: ["--tls-dir", join(dir, "tls"), ...roles] });
  stack.use(sidecar);
  const port = kind.port === "rpc" ? sidecar.port : Number(new URL(sidecar.healthUrl).port);
  const tls = kind.identity === undefined ? {} : { tls: of(kind.identity) };
  const seen = watch(sidecar, of("operator"), signal);
  const made = await flooded({ kind: kind.order, port, count, words: WORDS[kind.port], ...tls }, ms);
  const found = await seen.stop();
  for (const fault of found.faults) say(`${kind.name}: without an answer ${fault}`);
  if (found.faults.length > 0) say(sidecar.log());
  return rowsOf(kind, made, found);
}

async function flooded(order: FloodOrder, ms: number): Promise<FloodCounts> {
  const program = join(import.meta.dirname, "flooder.ts");
  const child = execa(process.execPath, [program, JSON.stringify(order)], { stderr: "inherit" });
  await Promise.race([sleep(ms), child]);
  child.stdin.end();
  return JSON.parse((await child).stdout) as FloodCounts;
}

interface Seen {
  readonly probes: number[];
  readonly peeks: number[];
  readonly memory: number[];
  /** The errors of calls without an answer. */
  readonly faults: string[];
}

/** Calls repeatedly until it is stopped; a failed call counts as infinitely long. */
function watch(sidecar: RunningSidecar, tls: ReturnType<TestCa["issue"]>, signal: AbortSignal) {
  const seen: Seen = { probes: [], peeks: [], memory: [], faults: [] };
  const over = new AbortController();
  const end = AbortSignal.any([over.signal, signal]);
  const connection = sidecarTransport({ baseUrl: `https://127.0.0.1:${sidecar.port}`, tls });
  const operator = createClient(SidecarService, connection.transport);
  const again = async (everyMs: number, look: () => Promise<void>) => {
    for (; !end.aborted; await sleep(everyMs)) await look();
  };
  const timed = async (into: number[], call: () => Promise<unknown>) => {
    const from = performance.now();
    const fault = await call().then(
      () => undefined,
      (err: unknown) => errorText(err),
    );
    if (end.aborted) return;
    into.push(fault === undefined ? performance.now() - from : Number.POSITIVE_INFINITY);
    if (fault !== undefined) seen.faults.push(`after ${Math.round(performance.now() - from)} ms: ${fault}`);
  };
  const running = [
    again(EACH_MS, () => timed(seen.probes, () => probe(`${sidecar.healthUrl}/livez`))),
    again(EACH_MS, () => timed(seen.peeks, () => operator.peek({ lines: 50 }, { timeoutMs: CALL_MS }))),
    again(1000, async () => void seen.memory.push(anonymousMiB(sidecar.servingPid()))),
  ];
  const stop = async (): Promise<Seen> => {
    over.abort();
    await Promise.all(running);
    connection[Symbol.dispose]();
    return seen;
  };
  return { stop };
}

/** Probes as the kubelet does: over a new connection each time. */
function probe(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: new Agent(), timeout: CALL_MS }, (answer) => {
      answer.resume().on("end", () => (answer.statusCode === 200 ? resolve() : reject(new Error("not healthy"))));
    });
    request.on("timeout", () => request.destroy(new Error("no answer"))).on("error", reject);
  });
}

function rowsOf({ name }: FloodKind, { made, mostOpen }: FloodCounts, seen: Seen): readonly Measured[] {
  const third = Math.ceil(seen.memory.length / 3);
  const failed = (times: readonly number[]) => times.filter((ms) => !Number.isFinite(ms)).length;
  return [
    measured(`${name}: probes, p99`, quantile(seen.probes, 0.99), "ms", { atMost: PROBE_MS }),
    measured(`${name}: an operator's Peek, p99`, quantile(seen.peeks, 0.99), "ms", { atMost: PEEK_MS }),
    measured(
      `${name}: without an answer, of ${seen.probes.length + seen.peeks.length}`,
      failed(seen.probes) + failed(seen.peeks),
      "calls",
      { atMost: 0 },
    ),
    measured(
      `${name}: memory of the serving half, last third (baseline: second third)`,
      median(seen.memory.slice(-third)),
      "MiB",
      { baseline: median(seen.memory.slice(third, -third)), ratioAtMost: GROWTH },
    ),
    measured(`${name}: connections made (baseline: most that were open at a time)`, made, "", { baseline: mostOpen }),
  ];
}
