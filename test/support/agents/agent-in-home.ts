import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AgentKind, makeAgentHome } from "./agents-home.ts";
import { type AgentProgram, agentProgram } from "./agents-install.ts";

export interface AgentInHome {
  /** A script that runs the program with its home and the model server, whatever the caller's environment contains. */
  readonly binary: string;
  /** The folder that it trusts. */
  readonly workdir: string;
}

/** A real program with a home of its own below `dir`, under the usual name by which its profile recognises it. */
export async function agentInHome(
  dir: string,
  kind: AgentKind,
  program: AgentProgram,
  modelUrl: string,
): Promise<AgentInHome> {
  const named = join(dir, "bin", kind);
  mkdirSync(join(dir, "bin"), { recursive: true });
  const { env, workdir } = await makeAgentHome({ agent: kind, dir, modelUrl });
  symlinkSync(await agentProgram(program), named);
  const exports = Object.entries(env).map(([name, value]) => `export ${name}='${value}'`);
  const binary = join(dir, kind);
  writeFileSync(binary, ["#!/bin/sh", ...exports, `exec ${named} "$@"`, ""].join("\n"), { mode: 0o700 });
  return { binary, workdir };
}
