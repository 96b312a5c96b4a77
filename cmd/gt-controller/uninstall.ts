import { printable } from "../../internal/base/printable-text.ts";
import { SecretClient } from "../../internal/controller/certificates/secret-client.ts";
import { isHelmRelease, tearDown } from "../../internal/controller/certificates/tear-down.ts";
import { LEASE_NAME } from "../../internal/controller/pods/settings.ts";
import type { ClusterOptions } from "./config.ts";
import type { ControllerContext } from "./context.ts";
import { chartNames } from "./names.ts";
import { openCluster, readConfigFile } from "./open-cluster.ts";

/**
 * Stops the controllers and deletes the pods and Secrets that they made, before the chart's own objects are deleted.
 * Keeps the CA, which has issued callers' certificates. As a Helm hook, it acts only on a release that Helm installed.
 */
export async function uninstall(
  context: ControllerContext,
  command: ClusterOptions & { readonly client: string; readonly timeoutMs: number; readonly isHook: boolean },
): Promise<number> {
  const { clock, logger, signal, out } = context;
  const { settings } = await readConfigFile(command.configFile);
  const { namespace, release, client, timeoutMs, isHook } = command;
  const { clientSecret, issuersSecret } = chartNames(release, client);
  await using cluster = await openCluster(command, { clock, logger });
  const wish = {
    namespace,
    deployment: release,
    lease: LEASE_NAME,
    controllers: `app.kubernetes.io/component=controller,gastown.io/release=${release}`,
    agents: settings.namespaces.map(({ name }) => name),
    secrets: [...new Set([clientSecret, issuersSecret, ...settings.secrets.map(({ name }) => name)])].map((name) => ({
      namespace,
      name,
    })),
    timeoutMs,
  };
  if (isHook && !(await isHelmRelease(cluster.api, wish, signal))) {
    out.line(printable`nothing is deleted: ${release} was not installed by Helm`);
    return 0;
  }
  await tearDown({ api: cluster.api, secrets: new SecretClient(cluster.api), clock, logger }, wish, signal);
  out.line(printable`the controllers are stopped, and the pods and Secrets that they created are deleted`);
  const { ca } = settings;
  out.line(printable`the CA stays; to delete it: kubectl -n ${ca.namespace} delete secret ${ca.secret}`);
  return 0;
}
