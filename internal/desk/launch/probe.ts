import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { DomainError } from "../../base/errors.ts";
import type { ProbePlan, Way } from "./crossing-ways.ts";
import type { InnerCommand } from "./front-command.ts";

/** A probe takes half a second on an idle machine. */
const LIMIT_MS = 180_000;

/**
 * Starts a probe exactly as the front is started and lets it try to cross. The probe reads its plan from stdin, so that
 * the front never learns the paths.
 * @returns each way that it tried
 * @throws DomainError `unavailable` when the probe does not run, or reports nothing
 */
export async function probe(command: InnerCommand, plan: ProbePlan, signal: AbortSignal): Promise<readonly Way[]> {
  const { program, args, env, cwd } = command;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
  const child: ChildProcess = spawn(program, args, {
    env,
    cwd,
    stdio: ["pipe", "pipe", "pipe"],
    signal: limit,
    detached: true,
  });
  const ended = new Promise<string>((resolve, reject) => {
    child.on("error", reject).once("close", (code) => resolve(String(code)));
  });
  child.stdin?.on("error", () => {}).end(JSON.stringify(plan));
  try {
    const [out, err, code] = await Promise.all([textOf(child.stdout), textOf(child.stderr), ended]);
    const ways = code === "0" ? waysIn(out) : undefined;
    if (ways === undefined) throw failed(`it ended with ${code}: ${err.trim().slice(-400)}`);
    return ways;
  } catch (cause) {
    if (cause instanceof DomainError) throw cause;
    throw failed(cause instanceof Error ? cause.message : String(cause));
  }
}

/** @throws DomainError `unavailable` naming the ways that are open */
export function assertClosed(ways: readonly Way[]): void {
  const open = ways.filter(({ isOpen }) => isOpen).map(({ name }) => name);
  if (open.length === 0) return;
  throw new DomainError("unavailable", `the boundary does not hold: the customer's side reaches ${open.join(", ")}`, {
    fields: { hint: "nothing was read and nothing crossed; desk check tries again" },
  });
}

/** If this process has no descriptor left, a child has no streams. */
async function textOf(stream: Readable | null | undefined): Promise<string> {
  return stream ? await text(stream) : "";
}

function waysIn(out: string): readonly Way[] | undefined {
  try {
    const ways: unknown = JSON.parse(out);
    return Array.isArray(ways) && ways.length > 0 && ways.every(isWay) ? ways : undefined;
  } catch {
    return undefined;
  }
}

function isWay(value: unknown): value is Way {
  const { name, isOpen } = (value ?? {}) as Partial<Way>;
  return typeof name === "string" && typeof isOpen === "boolean";
}

function failed(why: string): DomainError {
  return new DomainError("unavailable", `the probe of the boundary does not run: ${why}`);
}
