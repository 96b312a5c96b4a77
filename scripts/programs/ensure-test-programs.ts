import { existsSync, globSync } from "node:fs";
import { delimiter, join } from "node:path";
import { grpcPython, PYTHON_PACKAGES } from "../../test/support/bridge/python-grpc.ts";
import { aptInstall, captureOutput, findProgram, type RunProgram } from "./apt.ts";
import { ensureNatsServer } from "./ensure-nats-server.ts";

/** The Debian packages of the programs that tests run, other than tmux and the npm packages. */
const PACKAGES: Readonly<Record<string, string>> = {
  curl: "curl",
  openssl: "openssl",
  vim: "vim",
  less: "less",
  htop: "htop",
  python3: "python3",
  bwrap: "bubblewrap",
};

export interface EnsureOptions {
  readonly log: (line: string) => void;
  readonly env?: NodeJS.ProcessEnv;
  readonly uid?: number;
  readonly run?: RunProgram;
}

/**
 * Installs the missing programs, for root on a system with apt-get. Returns a line about the result.
 * @throws Error with the names of the programs that are still missing; tests that need one report it too.
 */
export async function ensureTestPrograms(options: EnsureOptions): Promise<string> {
  const { log, env = process.env, uid = process.getuid?.() ?? -1, run = captureOutput } = options;
  const packages: string[] = [];
  for (const [program, name] of Object.entries(PACKAGES)) {
    if ((await findProgram(program, env)) === undefined) packages.push(name);
  }
  if (!hasPostgres(env)) packages.push("postgresql");
  if ((await grpcPython(env, "google.protobuf", "jwt")) === undefined) packages.push(...PYTHON_PACKAGES);
  await ensureNatsServer({ log, env, run });
  if (packages.length === 0) return "all there";
  const apt = uid === 0 ? await findProgram("apt-get", env) : undefined;
  if (apt === undefined) throw new Error(`missing: ${packages.join(", ")}`);
  const failed = await aptInstall(apt, packages, { log, env, run });
  if (failed !== undefined) throw new Error(failed);
  return `installed ${packages.join(", ")}`;
}

/** Debian keeps PostgreSQL's programs outside PATH. */
function hasPostgres({ PATH: path = "" }: NodeJS.ProcessEnv): boolean {
  const places = [...globSync("/usr/lib/postgresql/*/bin"), ...path.split(delimiter)];
  return places.some((folder) => existsSync(join(folder, "initdb")));
}
