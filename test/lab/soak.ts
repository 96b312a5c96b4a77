// Works with agents or with one of our programs for a given time, and counts wrong reports. `--help` lists the options.
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeResults } from "../../bench/report/results.ts";
import { runFacts, runLine, table } from "../../bench/report/run-report.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { parseFlags } from "../../internal/cli/flags.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { buildBinary } from "../../scripts/build.ts";
import { soakOfController } from "./controller/run-controller.ts";
import { soakOfLines } from "./lines/run-lines.ts";
import { PHASE_TARGETS, type PhaseTarget, playPhases } from "./phases/play.ts";
import { phaseRows, phaseText } from "./phases/report.ts";
import { soakOfRelay } from "./relay/run-relay.ts";
import { soakOfSessions } from "./sessions/run-sessions.ts";
import { soakOfStreams } from "./streams/run-streams.ts";

const help = `Works with real agents for a long time and compares the reported states with the actual ones. Exits 1 if a working agent was
reported idle.

Usage: npm run soak -- [flags]

  --only WHAT      phases: the state of agents that answer, run tools, ask and are interrupted (the default);
                   streams: RAW watchers that are disconnected, stall and reconnect while the serving half is killed;
                   lines: the events of a program that prints numbered lines, while its window and screen change;
                   sessions: a bridge with the demo agent over stdio and in tmux, and real agents: what it loses and holds
                   relay: works of sampled and ACP agents by two relays, while all are cut, killed and suspended
                   controller: three replicas on a real cluster whose parts are killed, suspended and damaged at random
  --minutes N      duration (60)
  --acts N         lines: number of changes and prints (10000)
  --works N        relay: how many (2000)
  --cuts N         streams: ends after this many cut connections
  --sessions N     sessions: half of them over stdio, a tenth with real agents (100); controller: pods at a time (8); relay: (20)
  --every MS       mean time between two faults, streams (1000), relay (500); sessions: between two messages (500)
  --agents LIST    agents at the same time (claude-2.1.330,codex-0.169.0): ${PHASE_TARGETS.map(({ name }) => name).join(", ")}
  --seed N         seed of the work (1)
  --json FILE      writes the figures with each lag
  --write          stores the figures in bench/results and regenerates bench/RESULTS.md
`;

const specs = {
  only: { type: "string" },
  minutes: { type: "number" },
  acts: { type: "number" },
  works: { type: "number" },
  cuts: { type: "number" },
  sessions: { type: "number" },
  every: { type: "number" },
  agents: { type: "list" },
  seed: { type: "number" },
  json: { type: "string" },
  write: { type: "boolean" },
} as const;

await runMain({ name: "soak" }, async ({ argv, stdout, stderr, signal }) => {
  const { ask, values } = parseFlags(specs, argv, {});
  if (ask !== undefined) {
    stdout.write(help);
    return 0;
  }
  if (values.only === "lines") return await soakOfLines(values, { stdout, stderr, signal });
  if (values.only === "streams") return await soakOfStreams(values, { stdout, stderr, signal });
  if (values.only === "sessions") return await soakOfSessions(values, { stdout, stderr, signal });
  if (values.only === "relay") return await soakOfRelay(values, { stdout, stderr, signal });
  if (values.only === "controller") return await soakOfController(values, { stdout, stderr, signal });
  if ((values.only ?? "phases") !== "phases")
    throw new DomainError(
      "invalid",
      `--only takes phases, streams, lines, sessions, relay or controller, not "${values.only}"`,
    );
  const names = (values.agents ?? ["claude-2.1.330,codex-0.169.0"]).flatMap((list) => list.split(","));
  const targets = names.map(targetNamed);
  const { minutes = 60, seed = 1 } = values;
  const dir = await mkdtemp(join(tmpdir(), "gt-soak-"));
  try {
    const facts = runFacts();
    const sidecarProgram = await buildBinary("gt-sidecar", dir);
    const say = (text: string) => void stderr.write(`${new Date().toISOString()} ${text}\n`);
    const options = { ms: minutes * 60_000, everyMs: 50, long: true, sidecarProgram, say };
    const runs = await Promise.all(
      targets.map((target, i) => playPhases(target, { ...options, seed: seed + i }, signal)),
    );
    const rows = runs.flatMap(phaseRows);
    stdout.write(`${runLine(facts)}\n\n${table(rows)}\n\n${runs.map(phaseText).join("\n")}\n`);
    if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(runs, null, 2)}\n`);
    if (values.write) {
      writeResults("phases", { run: `${minutes} minutes; ${runLine(facts)}`, rows, notes: runs.map(phaseText) });
    }
    return runs.some(({ score }) => score.falseIdles.length > 0) ? 1 : 0;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

function targetNamed(name: string): PhaseTarget {
  const found = PHASE_TARGETS.find((target) => target.name === name);
  if (found === undefined) throw new DomainError("invalid", `--agents knows no "${name}"`);
  return found;
}
