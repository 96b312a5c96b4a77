import { asText, objectAt, objectOf } from "../../internal/base/json-fields.ts";
import { printable } from "../../internal/base/printable-text.ts";
import { SecretClient } from "../../internal/controller/certificates/secret-client.ts";
import { setUp, type WishedSecret } from "../../internal/controller/certificates/set-up.ts";
import type { SetUpSecret } from "../../internal/controller/pods/settings.ts";
import type { KubeApi } from "../../internal/kube/kube-api.ts";
import { isFault } from "../../internal/kube/kube-errors.ts";
import type { ClusterOptions } from "./config.ts";
import type { ControllerContext } from "./context.ts";
import { chartNames } from "./names.ts";
import { openCluster, readConfigFile } from "./open-cluster.ts";

/** The audience of tokens, if neither the configuration nor gt names another. */
const DEFAULT_AUDIENCE = "bridge";

/** An undefined `project` means the project of the first namespace. */
interface InitOptions extends ClusterOptions {
  readonly client: string;
  readonly project: string | undefined;
}

/** Creates what the cluster needs before its first caller, and prints the next steps. */
export async function initCa(context: ControllerContext, command: InitOptions): Promise<number> {
  const { clock, logger, signal, out } = context;
  const { settings, auth } = await readConfigFile(command.configFile);
  const { namespace, release, client } = command;
  const { clientSecret, issuersSecret } = chartNames(release, client);
  await using cluster = await openCluster(command, { clock, logger });
  const first: SetUpSecret = { name: clientSecret, owner: clientSecret, content: { type: "client", client } };
  const wanted = [first, ...settings.secrets.filter(({ name }) => name !== clientSecret)];
  const files: WishedSecret[] = [];
  for (const { name, content, owner: map } of wanted) {
    const owner = map === undefined ? undefined : await ownerIn(cluster.api, namespace, map, signal);
    files.push({ name, content, owner });
  }
  const { trustDomain, ca } = settings;
  const wish = { trustDomain, ca, namespace, issuersSecret, files };
  const report = await setUp({ secrets: new SecretClient(cluster.api), clock }, wish, signal);
  const line = (step = "", name: string, what: string) => out.line(printable`${step.padEnd(8)}${name}  ${what}`);
  line(report.ca, `${ca.namespace}/${ca.secret}`, `the CA of ${trustDomain}`);
  for (const { name, content } of files) line(report.files[name], `${namespace}/${name}`, describe(content));
  line(report.issuers, `${namespace}/${issuersSecret}`, "the public keys of clients' tokens");
  const project = command.project ?? settings.namespaces[0]?.project ?? "";
  const audience = auth?.jwt_audience ?? DEFAULT_AUDIENCE;
  for (const step of nextSteps(command, clientSecret, { project, audience })) out.line(printable`${step}`);
  return 0;
}

function describe(content: SetUpSecret["content"]): string {
  switch (content.type) {
    case "client":
      return `the certificate and token key of the client ${content.client}`;
    case "server":
      return `the certificate of ${content.hosts[0]}`;
    case "token-key":
      return "the key of agents' tokens";
  }
}

/**
 * A ConfigMap of the chart, which Helm deletes when its Secret is no longer wanted; undefined if
 * it does not exist, because the chart is not used.
 */
async function ownerIn(api: KubeApi, namespace: string, name: string, signal: AbortSignal) {
  try {
    const path = `/api/v1/namespaces/${namespace}/configmaps/${name}`;
    const found = objectOf(await api.call({ method: "GET", path }, signal));
    return { kind: "ConfigMap", name, uid: asText(objectAt(found, "metadata")["uid"]) } as const;
  } catch (err) {
    if (!isFault(err, "not-found")) throw err;
    return undefined;
  }
}

function nextSteps(
  { namespace, release, client }: InitOptions,
  secret: string,
  { project, audience }: { readonly project: string; readonly audience: string },
): readonly string[] {
  const template = '{{index .data \\"$file\\" | base64decode}}';
  const dir = `gastown-${client}`;
  return [
    "",
    "Next:",
    `  umask 077 && mkdir -p ${dir}`,
    "  for file in tls.crt tls.key ca.crt jwt.key; do",
    `    kubectl -n ${namespace} get secret ${secret} -o go-template="${template}" > ${dir}/$file`,
    "  done",
    `  kubectl -n ${namespace} port-forward deployment/${release} 9445:9445 &`, // the Service may have another port
    `  export GT_PROFILE=${release}`,
    "  gt config set server 127.0.0.1:9445",
    `  gt config set tls-dir ${dir}`,
    `  gt config set jwt-key ${dir}/jwt.key`,
    `  gt config set jwt-issuer ${client}`,
    ...(audience === DEFAULT_AUDIENCE ? [] : [`  gt config set jwt-audience ${audience}`]),
    `  gt config set project ${project}`,
    "  gt agents",
  ];
}
