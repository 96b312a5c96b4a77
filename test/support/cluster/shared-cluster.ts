import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "vitest";
import { type TestCluster, testCluster } from "./cluster.ts";
import { component, requireComponent } from "./components.ts";
import { Containers } from "./containers.ts";

/** One cluster for several suites, with the images that they run. */
export interface SharedCluster {
  readonly cluster: TestCluster;
  /** Of the cluster, for the program that made it. */
  readonly name: string;
  /** A sidecar with the demo agent. */
  readonly image: string;
  /** The controller's. */
  readonly controllerImage: string;
}

let made: SharedCluster | undefined;

/**
 * What `makeShared` made; undefined: something that it needs is missing. For hooks and tests, not while a file is
 * loaded.
 */
export const shared = (): SharedCluster | undefined => made;

/** Makes the cluster and its images, where everything that it needs is there. */
export async function makeShared(name: string): Promise<void> {
  const containers = await component("containers");
  if ("missing" in containers) return;
  const cluster = await testCluster(name);
  if ("missing" in cluster) return;
  const dir = await mkdtemp(join(tmpdir(), "gt-images-"));
  try {
    const builder = await Containers.here({} as TestContext);
    const archive = join(dir, "image.tar");
    const image = await cluster.load(archive, await builder.build("demo", archive));
    const controllerImage = await cluster.load(archive, await builder.buildController(archive));
    made = { cluster, name, image, controllerImage };
  } catch (err) {
    await cluster[Symbol.asyncDispose]();
    throw err;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

export async function dropShared(): Promise<void> {
  await made?.cluster[Symbol.asyncDispose]();
  made = undefined;
}

/** What was made, or a skipped test that says what is missing. */
export async function requireCluster<T>(context: TestContext, made: T | undefined): Promise<T> {
  if (made !== undefined) return made;
  for (const name of ["kubectl", "cluster", "containers", "helm"] as const) await requireComponent(context, name);
  return context.skip("no cluster");
}
