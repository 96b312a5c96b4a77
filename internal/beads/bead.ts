import type { RunCommand } from "../process/run-command.ts";
import { parseBead } from "./bead-record.ts";

/** The result of a look-up of an agent in the beads database. */
export type BeadLookup =
  | { readonly type: "local"; readonly id: string; readonly muted: boolean }
  | {
      readonly type: "k8s";
      readonly id: string;
      readonly muted: boolean;
      readonly host: string;
      readonly port: number;
      readonly session?: string | undefined;
      /** The control plane that started the session, `HOST:PORT`. */
      readonly server?: string | undefined;
    }
  /** A session of a control plane; `server`: `HOST:PORT`. */
  | {
      readonly type: "bridge";
      readonly id: string;
      readonly muted: boolean;
      readonly server: string;
      readonly session: string;
    }
  /** There is no `bd`, no database or no such bead. */
  | { readonly type: "absent" }
  /** The place is unknown. It must not be taken for local. */
  | { readonly type: "error"; readonly id: string; readonly message: string; readonly hint: string };

export interface BeadDeps {
  readonly run: RunCommand;
  /** The program with its first arguments; default: `bd`. */
  readonly command?: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder in which `bd` runs, and from which it finds its database. */
  readonly cwd: string;
  readonly timeoutMs: number;
}

const MAX_BYTES = 4 * 1024 * 1024;
const NOT_FOUND = /\bnot found\b|\bno issues? found\b|\bno beads database\b/i;

/** Asks `bd show` for each ID in turn; the first bead that exists, or the first failure, is the answer. */
export async function lookUpBead(ids: readonly string[], deps: BeadDeps, signal: AbortSignal): Promise<BeadLookup> {
  for (const id of ids) {
    const found = await showBead(id, deps, signal);
    if (found.type !== "absent") return found;
  }
  return { type: "absent" };
}

async function showBead(id: string, deps: BeadDeps, signal: AbortSignal): Promise<BeadLookup> {
  const options = { cwd: deps.cwd, env: deps.env, timeoutMs: deps.timeoutMs, maxBytes: MAX_BYTES };
  const [program = "bd", ...args] = deps.command ?? [];
  const result = await deps.run(program, [...args, "show", id, "--json"], options, signal);
  switch (result.type) {
    case "missing":
      return { type: "absent" };
    case "failed":
      return failure(id, `bd show ${id}: ${result.reason}`);
    case "exit":
      return result.code === 0
        ? read(id, result.stdout)
        : failed(id, result.code, `${result.stderr}\n${result.stdout}`);
  }
}

function read(id: string, stdout: string): BeadLookup {
  if (/^\s*(?:\[\s*\]|null)?\s*$/.test(stdout)) return { type: "absent" };
  const record = parseBead(stdout);
  if (record === undefined) return failure(id, `bd show ${id}: did not print a bead as JSON`);
  const { place, muted } = record;
  switch (place.type) {
    case "local":
      return { type: "local", id, muted };
    case "k8s":
    case "bridge":
      return { ...place, id, muted };
    case "malformed":
      return {
        type: "error",
        id,
        message: `bead ${id} does not say where its agent is: ${place.reason}`,
        hint: "correct its metadata (backend, sidecar_host, sidecar_port), or give --host and --port",
      };
  }
}

function failed(id: string, code: number, output: string): BeadLookup {
  if (NOT_FOUND.test(output)) return { type: "absent" };
  const line = output.split("\n").find((text) => text.trim() !== "") ?? "";
  return failure(id, `bd show ${id}: exit ${code}${line === "" ? "" : `: ${line.trim().slice(0, 200)}`}`);
}

function failure(id: string, message: string): BeadLookup {
  return {
    type: "error",
    id,
    message,
    hint: "repair bd, or give the agent's place: --host and --port, or --socket for a local agent",
  };
}
