import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import type { Environment } from "../../internal/base/environment.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { readNamedFileSync } from "../../internal/files/named-file.ts";
import { locateProgram } from "../../internal/process/locate-program.ts";

/** The file of an agent's program; undefined for the built-in one. @throws DomainError `unavailable` */
export function agentProgramOf(agent: string, env: Environment): string | undefined {
  if (agent === "reader") return undefined;
  const found = locateProgram(agent, env["PATH"] ?? "", "/");
  if (found !== undefined) return realpathSync(found);
  throw new DomainError("unavailable", `the agent ${agent} is not available: no program ${agent} is found`, {
    fields: { hint: "install it, put it on PATH, or use the agent reader" },
  });
}

/** The folders that a program needs: its own, or all packages that were installed with its package. */
export function filesOfProgram(program: string): readonly string[] {
  const at = program.indexOf("/node_modules/");
  return [at < 0 ? dirname(program) : program.slice(0, at + "/node_modules".length)];
}

const LINE = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$/;

/** Variables in a file of `KEY=VALUE` lines; `#` begins a comment. @throws DomainError `unavailable`, without values */
export function readVariables(path: string | undefined): Readonly<Record<string, string>> {
  if (path === undefined) return {};
  const text = readNamedFileSync(path, "unavailable");
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.trimStart().startsWith("#"));
  const entries = lines.map((line) => {
    const [, name = "", value = ""] = LINE.exec(line) ?? [];
    if (name === "") throw new DomainError("unavailable", `${path} has a line that is not KEY=VALUE`);
    return [name, value.trim().replace(/^(["'])(.*)\1$/, "$2")] as const;
  });
  return Object.fromEntries(entries);
}
