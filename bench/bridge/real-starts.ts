import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ModelServer } from "../../test/fakes/model-server.ts";
import { type AgentKind, makeAgentHome } from "../../test/support/agents/agents-home.ts";
import { type AgentProgram, agentProgram } from "../../test/support/agents/agents-install.ts";
import { BridgeFolder } from "../../test/support/bridge/bridge-folder.ts";
import type { BenchContext } from "../context.ts";
import type { Measured } from "../report/row.ts";
import { measureFirstEvent } from "./first-event.ts";

const PROGRAMS: readonly (readonly [AgentKind, AgentProgram])[] = [
  ["claude", "claude-2.1.330"],
  ["codex", "codex-0.169.0"],
  ["opencode", "opencode-1.18.33"],
];

/** How soon a session of each real program says something; the model is on loopback. */
export async function measureRealStarts({ quick, signal, say }: BenchContext): Promise<readonly Measured[]> {
  await using model = await ModelServer.listen();
  await using folder = await BridgeFolder.create();
  const agents = await Promise.all(
    PROGRAMS.map(async ([kind, program]) => ({ kind, ...(await wrapped(folder, kind, program, model.url)) })),
  );
  await using bridge = await folder.start({
    providers: Object.fromEntries(agents.map(({ kind, binary }) => [kind, { binary, startup_timeout: "60s" }])),
    sessions: { stop_grace_period: "3s", max_per_project: 50, max_global: 50 },
  });
  const rows: Measured[] = [];
  for (const { kind, workdir } of agents) {
    say(`bridge: start to first event, ${kind}`);
    rows.push(...(await measureFirstEvent({ folder, bridge, rounds: quick ? 1 : 5, signal }, kind, workdir)));
  }
  return rows;
}

/** The program with a home of its own, under its usual name, by which its profile knows it. */
async function wrapped(folder: BridgeFolder, kind: AgentKind, program: AgentProgram, modelUrl: string) {
  const dir = folder.path("repos", kind);
  const named = join(dir, "bin", kind);
  mkdirSync(join(dir, "bin"), { recursive: true });
  const { env, workdir } = await makeAgentHome({ agent: kind, dir, modelUrl });
  symlinkSync(await agentProgram(program), named);
  const exports = Object.entries(env).map(([name, value]) => `export ${name}='${value}'`);
  const binary = join(dir, kind);
  writeFileSync(binary, ["#!/bin/sh", ...exports, `exec ${named} "$@"`, ""].join("\n"), { mode: 0o700 });
  return { binary, workdir };
}
