// Makes real agents ask for hostile commands and questions, answers their dialogs, and judges by their actions.
// `--help` lists the options.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DomainError } from "../../../internal/base/errors.ts";
import { parseFlags } from "../../../internal/cli/flags.ts";
import { runMain } from "../../../internal/cli/run-main.ts";
import { buildBinary } from "../../../scripts/build.ts";
import type { AgentKind } from "../../support/agents/agents-home.ts";
import { ANSWERS } from "./dialog-case.ts";
import { reportOf } from "./dialog-report.ts";
import type { CaseResult } from "./judge-case.ts";
import { runCases } from "./run-cases.ts";

const AGENTS: readonly AgentKind[] = ["claude", "codex", "opencode"];

const help = `Makes real agents ask for hostile commands and questions, answers each dialog with one of its choices, and compares what the
agent did. Exits 1 if a tool ran against the answer, or if the agent received another answer than the one named.

Usage: npm run lab:dialogs -- [flags]

  --agent LIST     programs (all): ${AGENTS.join(", ")}
  --count N        dialogs of each program; the kinds of choice alternate (200)
  --seed N         seed of the dialogs (1)
  --only WORD      only answers of this kind: ${[...new Set(Object.values(ANSWERS).flat())].join(", ")}
  --from N         number of the first case (0)
  --resume FILE    appends each result to this file, one per line, and skips the cases that it contains
  --screens        prints each dialog as it was drawn

Examples:
  npm run lab:dialogs -- --agent claude --count 350 --resume claude.jsonl
  npm run lab:dialogs -- --agent opencode --from 17 --count 1 --screens
`;

const specs = {
  agent: { type: "list" },
  count: { type: "number" },
  seed: { type: "number" },
  only: { type: "string" },
  from: { type: "number" },
  resume: { type: "string" },
  screens: { type: "boolean" },
} as const;

await runMain({ name: "lab:dialogs" }, async ({ argv, stdout, stderr, signal }) => {
  const { ask, values } = parseFlags(specs, argv, {});
  if (ask !== undefined) {
    stdout.write(help);
    return 0;
  }
  const agents = agentsIn(values.agent ?? AGENTS);
  const results = values.resume === undefined ? [] : readResults(values.resume);
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "gt-dialogs-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const sidecarProgram = await buildBinary("gt-sidecar", dir);
  for (const agent of agents) {
    await runCases({
      agent,
      seed: values.seed ?? 1,
      from: values.from ?? 0,
      count: values.count ?? 200,
      only: values.only,
      done: new Set(results.map((result) => result.id)),
      sidecarProgram,
      signal,
      onResult: (result) => {
        results.push(result);
        if (values.resume !== undefined) appendFileSync(values.resume, `${JSON.stringify(result)}\n`);
        for (const fault of result.faults) stderr.write(`${result.id} ${result.answer} ${result.answered}: ${fault}\n`);
        if (values.screens === true) stdout.write(`${JSON.stringify(result, null, 1)}\n`);
      },
      onTrouble: (text) => void stderr.write(`trouble: ${text}\n`),
      onScreen: values.screens === true ? (text: string) => void stdout.write(`${text}\n`) : undefined,
    });
  }
  stdout.write(`${reportOf(results)}\n`);
  return results.some((result) => result.faults.length > 0) ? 1 : 0;
});

/** @throws DomainError `invalid` */
function agentsIn(lists: readonly string[]): readonly AgentKind[] {
  return lists
    .flatMap((list) => list.split(","))
    .map((name) => {
      const found = AGENTS.find((agent) => agent === name);
      if (found === undefined) throw new DomainError("invalid", `no agent "${name}": there are ${AGENTS.join(", ")}`);
      return found;
    });
}

function readResults(file: string): CaseResult[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line.endsWith("}")).map((line) => JSON.parse(line) as CaseResult);
}
