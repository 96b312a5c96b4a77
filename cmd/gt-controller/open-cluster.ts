import type { Clock } from "../../internal/base/clock.ts";
import { DomainError } from "../../internal/base/errors.ts";
import type { Logger } from "../../internal/base/logger.ts";
import { readNamedFile } from "../../internal/files/named-file.ts";
import { inClusterCredentials, type KubeCredentials } from "../../internal/kube/access/credentials.ts";
import { kubeconfigCredentials } from "../../internal/kube/access/kubeconfig.ts";
import { KubeTransport } from "../../internal/kube/transport.ts";
import type { ClusterOptions } from "./config.ts";
import { type ControllerConfig, readControllerConfig } from "./controller-config.ts";

/** The cluster, held open until it is disposed of. */
export interface OpenCluster extends AsyncDisposable {
  readonly api: KubeTransport;
}

/** @throws DomainError `invalid` outside a pod without a kubeconfig, and for a kubeconfig that cannot be used */
export async function openCluster(
  flags: ClusterOptions,
  deps: { readonly clock: Clock; readonly logger: Logger },
): Promise<OpenCluster> {
  const api = new KubeTransport({ ...deps, credentials: await clusterCredentials(flags) });
  const stop = new AbortController();
  const running = api.run(stop.signal);
  return {
    api,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

/**
 * @throws DomainError `not-found` for a file that cannot be read, `invalid` for faults in it
 */
export async function readConfigFile(path: string): Promise<ControllerConfig> {
  return readControllerConfig(await readNamedFile(path, "not-found"), path);
}

/** @throws DomainError `invalid` outside a pod without a kubeconfig, and for a kubeconfig that cannot be used */
export async function clusterCredentials({
  kubeconfig,
  context,
  apiServer,
  env,
}: ClusterOptions): Promise<KubeCredentials> {
  if (kubeconfig !== undefined) return await kubeconfigCredentials(kubeconfig, context, env);
  if (apiServer !== undefined) return inClusterCredentials(apiServer.host, apiServer.port);
  throw new DomainError("invalid", "this program is not running in a pod", {
    fields: { hint: "name a cluster with --kubeconfig" },
  });
}
