import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { DomainError } from "../../internal/base/errors.ts";
import { component } from "../../test/support/cluster/components.ts";
import type { Measured } from "../report/row.ts";
import type { Part } from "./parts.ts";

/** What a measurement found. */
export interface PartFound {
  readonly rows: readonly Measured[];
  readonly notes: readonly string[];
}

export interface PartOptions {
  /** Of the cluster, for the program that made it. */
  readonly name: string;
  readonly quick: boolean;
  /** Of the pods with an agent, where there are any. */
  readonly image: string;
}

/**
 * Runs a measurement in the network of its cluster. Only there are pods reached; and from outside the API server is
 * reached through a forwarder that holds back the end of whatever has more than 8 KiB for 40 ms.
 */
export async function measureInNetwork(
  part: Part,
  { name, quick, image }: PartOptions,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<PartFound> {
  const tool = await component("cluster");
  if ("missing" in tool) throw new DomainError("unavailable", tool.missing);
  const program = join(import.meta.dirname, "part-program.ts");
  const args = ["in", process.execPath, ...process.execArgv, program, part, quick ? "quick" : "full", image];
  const env = { ...process.env, GT_CLUSTER: name };
  const running = promisify(execFile)(tool.path, args, { env, signal, maxBuffer: 1 << 26 });
  running.child.stderr?.on("data", (text: string) => say(text.trimEnd()));
  return JSON.parse((await running).stdout) as PartFound;
}
