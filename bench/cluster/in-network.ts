import { join } from "node:path";
import { runInNetwork } from "../../test/support/cluster/run-in-network.ts";
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
  const program = join(import.meta.dirname, "part-program.ts");
  return (await runInNetwork(name, [program, part, quick ? "quick" : "full", image], say, signal)) as PartFound;
}
