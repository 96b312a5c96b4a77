import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "vitest";
import { DomainError } from "../../../internal/base/errors.ts";
import type { TestCluster } from "./cluster.ts";
import { component } from "./components.ts";
import { Containers } from "./containers.ts";

/** Builds a sidecar with the demo agent and loads it into the cluster's node; returns the image's name. */
export async function demoImage(cluster: TestCluster): Promise<string> {
  const containers = await component("containers");
  if ("missing" in containers) throw new DomainError("unavailable", containers.missing);
  const dir = await mkdtemp(join(tmpdir(), "gt-load-"));
  try {
    const archive = join(dir, "image.tar");
    return await cluster.load(archive, await (await Containers.here({} as TestContext)).build("demo", archive));
  } finally {
    await rm(dir, { recursive: true });
  }
}
