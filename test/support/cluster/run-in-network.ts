import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { DomainError } from "../../../internal/base/errors.ts";
import { component } from "./components.ts";

/**
 * Runs one of our programs in the network of the cluster `name`; returns its output, which is JSON; `say` gets its
 * stderr.
 */
export async function runInNetwork(
  name: string,
  command: readonly string[],
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<unknown> {
  const tool = await component("cluster");
  if ("missing" in tool) throw new DomainError("unavailable", tool.missing);
  const args = ["in", process.execPath, ...process.execArgv, ...command];
  const env = { ...process.env, GT_CLUSTER: name };
  const running = promisify(execFile)(tool.path, args, { env, signal, maxBuffer: 1 << 26 });
  running.child.stderr?.on("data", (text: string) => say(text.trimEnd()));
  return JSON.parse((await running).stdout);
}
