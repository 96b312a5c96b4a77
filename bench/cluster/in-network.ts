import { join } from "node:path";
import { runInNetwork } from "../../test/support/cluster/run-in-network.ts";
import type { Measured } from "../report/row.ts";
import type { Part } from "./parts.ts";

/** The result of a measurement. */
export interface PartFound {
  readonly rows: readonly Measured[];
  readonly notes: readonly string[];
}

export interface PartOptions {
  /** The cluster's name, for the program that made it. */
  readonly name: string;
  readonly quick: boolean;
  /** The image of the pods with an agent, if there are any. */
  readonly image: string;
}

/**
 * Runs a measurement in the network of its cluster. Pods can be reached only there; and from outside, the API server is
 * reached through a forwarder that delays the end of each response over 8 KiB by 40 ms.
 */
export async function measureInNetwork(
  part: Part,
  { name, quick, image }: PartOptions,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<PartFound> {
  const program = join(import.meta.dirname, "part-program.ts");
  return (await runInNetwork(name, [program, part, quick ? "quick" : "full", image], say, signal)) as PartFound;
}
