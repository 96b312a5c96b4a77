import type { Clock } from "../../base/clock.ts";
import { asObjects, asText, type Json, objectAt, objectOf } from "../../base/json-fields.ts";
import { createLogger } from "../../base/logger.ts";
import { ANNOTATIONS, LABELS, labelledAddress, labelValue, MANAGED_BY } from "../../controller/pods/names.ts";
import { observePod } from "../../controller/pods/observed-pod.ts";
import { podVerdict } from "../../controller/pods/pod-status.ts";
import { kubeContext } from "../../kube/access/kube-context.ts";
import { listPages } from "../../kube/list-pages.ts";
import { KubeTransport } from "../../kube/transport.ts";
import { type AgentAddress, formatAddress } from "../finding/address.ts";
import type { AgentPod, AgentPods } from "../finding/agent-pods.ts";
import { explainCluster } from "./cluster-failures.ts";
import type { ClusterConfig } from "./place-config.ts";

type Env = Readonly<Record<string, string | undefined>>;

const PLAINTEXT = "GT_SIDECAR_INSECURE";

/** The agents of a cluster, found by the labels of their pods. It holds no connection between two queries. */
export class ClusterAgents implements AgentPods {
  readonly where: string;
  readonly only: boolean;
  readonly #cluster: ClusterConfig;
  readonly #deps: { readonly env: Env; readonly clock: Clock };

  constructor(cluster: ClusterConfig, deps: { readonly env: Env; readonly clock: Clock }) {
    this.where = clusterText(cluster);
    this.only = cluster.only;
    this.#cluster = cluster;
    this.#deps = deps;
  }

  async find(address: AgentAddress, signal: AbortSignal): Promise<readonly AgentPod[]> {
    const asked = formatAddress(address);
    const name = asked.slice(asked.lastIndexOf("/") + 1);
    const selectors = [`${LABELS.agent}=${labelValue(name)}`];
    if (address.type === "bare") selectors.push(`${LABELS.agent},${LABELS.session}=${labelValue(name)}`);
    const found = await this.#ask(selectors, signal);
    return [...new Map(found.map((pod) => [`${pod.namespace}/${pod.name}`, pod])).values()];
  }

  async list(signal: AbortSignal): Promise<readonly AgentPod[]> {
    return await this.#ask([LABELS.agent], signal);
  }

  async #ask(selectors: readonly string[], signal: AbortSignal): Promise<readonly AgentPod[]> {
    const { env, clock } = this.#deps;
    const { credentials, namespace } = await kubeContext(this.#cluster.context, env);
    const api = new KubeTransport({ credentials, clock, logger: createLogger("gt", "silent") });
    const stop = new AbortController();
    const running = api.run(stop.signal);
    const within = this.#cluster.namespace ?? namespace;
    const path = within === "" ? "/api/v1/pods" : `/api/v1/namespaces/${encodeURIComponent(within)}/pods`;
    const read = (labelSelector: string) => listPages(api, { path, labelSelector, project: agentPodOf }, signal);
    try {
      const lists = await Promise.all(selectors.map(read));
      return lists.flatMap(({ objects }) => objects.map(({ value }) => value));
    } catch (err) {
      throw signal.aborted ? signal.reason : explainCluster(err, this.where);
    } finally {
      stop.abort();
      await running;
    }
  }
}

/** A cluster as messages name it. */
export function clusterText({ context }: ClusterConfig): string {
  return `context ${JSON.stringify(context)}`;
}

/** The fields of a pod that say which agent runs in it and how to reach that agent. */
export function agentPodOf(object: unknown): AgentPod | undefined {
  const pod = observePod(object);
  const { namespace, name, labels, annotations, nodeName } = pod;
  if (namespace === "" || name === "") return undefined;
  const containers = containersOf(object);
  const verdict = podVerdict(pod, { stopping: annotations[ANNOTATIONS.stopRequested] !== undefined });
  const isKept = annotations[ANNOTATIONS.stoppedAt] !== undefined && verdict.status !== "failed";
  return {
    namespace,
    name,
    agent: annotations[ANNOTATIONS.address] ?? envOf(containers, "GT_AGENT_ADDRESS") ?? labelledAddress(labels),
    session: sessionOf(pod, containers),
    provider: labels[LABELS.provider] ?? "",
    node: nodeName,
    ...verdict,
    ...(isKept && { status: "stopped", reason: "", error: "" }),
    tls: !containers.some(isPlaintext),
  };
}

/**
 * The session's id. Our own pods state it in full; for others it is their sidecar's setting, a label, or the pod's uid.
 */
function sessionOf({ labels, annotations, uid }: ReturnType<typeof observePod>, containers: readonly Json[]): string {
  const own = labels[LABELS.managedBy] === MANAGED_BY ? annotations[ANNOTATIONS.sessionId] : undefined;
  return own || envOf(containers, "GT_SESSION_ID") || labels[LABELS.session] || uid;
}

function containersOf(object: unknown): readonly Json[] {
  const spec = objectAt(objectOf(object), "spec");
  return [...asObjects(spec["containers"]), ...asObjects(spec["initContainers"])];
}

/** The value of a variable that is given as text; undefined if it is missing or comes from elsewhere. */
function envOf(containers: readonly Json[], name: string): string | undefined {
  const found = containers.flatMap(({ env }) => asObjects(env)).find((one) => one["name"] === name);
  return asText(found?.["value"]) || undefined;
}

function isPlaintext({ args, env }: Json): boolean {
  const isFlagged = Array.isArray(args) && args.includes("--insecure-plaintext");
  return isFlagged || asObjects(env).some((one) => one["name"] === PLAINTEXT && one["value"] === "1");
}
