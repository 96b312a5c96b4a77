import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "vitest";
import { ApiAudit } from "./api-audit.ts";
import { type TestCluster, testCluster } from "./cluster.ts";
import { component, requireMade } from "./components.ts";
import { Containers } from "./containers.ts";

/** One cluster for several suites, with the images that they run. */
export interface SharedCluster {
  readonly cluster: TestCluster;
  /** The cluster's name, for the program that made it. */
  readonly name: string;
  /** The image of a sidecar with the demo agent. */
  readonly image: string;
  /** The image of the controller. */
  readonly controllerImage: string;
}

/** One API server with its controllers for several suites; it has no node. */
export interface SharedApiServer {
  readonly cluster: TestCluster;
  /** The requests that it answers; a cluster of KUBECONFIG records none. */
  readonly audit: ApiAudit;
}

let made: SharedCluster | undefined;
let apiServer: (SharedApiServer & { readonly owned: AsyncDisposableStack }) | undefined;

/**
 * The result of `makeShared`; undefined if a required program is missing. For hooks and tests, not while a file is
 * loaded.
 */
export const shared = (): SharedCluster | undefined => made;

/** Makes the cluster and its images if all required programs are present. */
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

/** The cluster, or a skipped test with a line about the missing program. */
export function requireCluster<T>(context: TestContext, made: T | undefined): Promise<T> {
  return requireMade(context, made, ["kubectl", "cluster", "containers", "helm"], "no cluster");
}

/** The result of `makeApiServer`, as `shared`. */
export const sharedApiServer = (): SharedApiServer | undefined => apiServer;

/** Makes an API server if all required programs are present. */
export async function makeApiServer(name: string): Promise<void> {
  await using owned = new AsyncDisposableStack();
  const audit = owned.use(await ApiAudit.make());
  const cluster = await testCluster(name, "none", audit.flags);
  if ("missing" in cluster) return;
  owned.use(cluster);
  apiServer = { cluster, audit, owned: owned.move() };
}

export async function dropApiServer(): Promise<void> {
  await apiServer?.owned.disposeAsync();
  apiServer = undefined;
}
