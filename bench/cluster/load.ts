import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestContext } from "vitest";
import { DomainError } from "../../internal/base/errors.ts";
import { component } from "../../test/support/cluster/components.ts";
import { Containers } from "../../test/support/cluster/containers.ts";
import type { ClusterBench } from "./cluster-bench.ts";
import type { LoadFound } from "./load-program.ts";

/**
 * Callers that peek and nudge at once. The program that measures runs in the cluster's network: only there are pods
 * reached.
 */
export async function measureLoad({ cluster, name, quick, say, note, signal }: ClusterBench) {
  await using stack = new AsyncDisposableStack();
  const [tool, containers] = [await component("cluster"), await component("containers")];
  for (const one of [tool, containers]) if ("missing" in one) throw new DomainError("unavailable", one.missing);
  const dir = await mkdtemp(join(tmpdir(), "gt-load-"));
  stack.defer(async () => await rm(dir, { recursive: true }));
  const archive = join(dir, "image.tar");
  const image = await cluster.load(archive, await (await Containers.here({} as TestContext)).build("demo", archive));
  const program = join(import.meta.dirname, "load-program.ts");
  const args = ["in", process.execPath, program, image, quick ? "60" : "600"];
  const env = { ...process.env, GT_CLUSTER: name };
  const running = promisify(execFile)("path" in tool ? tool.path : "", args, { env, signal, maxBuffer: 1 << 26 });
  running.child.stderr?.on("data", (text: string) => say(text.trimEnd()));
  const found = JSON.parse((await running).stdout) as LoadFound;
  note(found.note);
  return found.rows;
}
