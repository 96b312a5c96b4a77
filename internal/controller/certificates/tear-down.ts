import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { asText, objectAt, objectOf } from "../../base/json-fields.ts";
import type { Logger } from "../../base/logger.ts";
import type { KubeApi } from "../../kube/kube-api.ts";
import { isFault } from "../../kube/kube-errors.ts";
import { LABELS, MANAGED_BY } from "../pods/names.ts";
import { type ObservedPod, observePod } from "../pods/observed-pod.ts";
import type { SecretStore } from "./secret-store.ts";

export interface TearDownDeps {
  readonly api: KubeApi;
  readonly secrets: SecretStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface TearDownWish {
  /** Namespace of the controllers. */
  readonly namespace: string;
  readonly deployment: string;
  /** Lease of the controllers, in their namespace. */
  readonly lease: string;
  /** Label selector of the controllers' pods. */
  readonly controllers: string;
  /** The namespaces with agents. */
  readonly agents: readonly string[];
  /** Secrets that the set-up made; one without our label is kept. */
  readonly secrets: readonly { readonly namespace: string; readonly name: string }[];
  /** How long the pods may take to end, ms. */
  readonly timeoutMs: number;
}

const LOOK_MS = 500;

/**
 * Removes what the controllers made: stops them first, so that they create nothing new; then deletes the pods with our
 * label, with which the cluster deletes their Secrets, and the Secrets of the set-up. Adopted pods belong to others and
 * stay.
 * @throws DomainError `deadline` that names the remaining objects
 */
export async function tearDown(deps: TearDownDeps, wish: TearDownWish, signal: AbortSignal): Promise<void> {
  const end = deps.clock.monotonicMs() + wish.timeoutMs;
  await stopControllers(deps.api, wish, signal);
  const controllers = async () => await podsOf(deps.api, wish.namespace, wish.controllers, signal);
  await untilNone(deps, "controllers", controllers, end, signal);
  const lease = `/apis/coordination.k8s.io/v1/namespaces/${wish.namespace}/leases/${wish.lease}`;
  await orGone(deps.api.call({ method: "DELETE", path: lease }, signal));
  const ours = `${LABELS.managedBy}=${MANAGED_BY}`;
  const agents = async () =>
    (await Promise.all(wish.agents.map((namespace) => podsOf(deps.api, namespace, ours, signal)))).flat();
  for (const pod of await agents()) await deletePod(deps, pod, signal);
  await untilNone(deps, "agents' pods", agents, end, signal);
  for (const { namespace, name } of wish.secrets) {
    const secret = await deps.secrets.get(namespace, name, signal);
    if (secret?.labels[LABELS.managedBy] === MANAGED_BY) await deps.secrets.delete(namespace, name, secret, signal);
  }
}

/**
 * True if Helm installed the controllers, or if they are gone. Otherwise, the chart was rendered and applied as plain
 * manifests, including the hook that Helm runs before it uninstalls a release.
 */
export async function isHelmRelease(
  api: KubeApi,
  { namespace, deployment }: Pick<TearDownWish, "namespace" | "deployment">,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${deployment}`;
    const found = objectOf(await api.call({ method: "GET", path }, signal));
    return asText(objectAt(found, "metadata", "annotations")["meta.helm.sh/release-name"]) !== "";
  } catch (err) {
    if (!isFault(err, "not-found")) throw err;
    return true;
  }
}

async function stopControllers(
  api: KubeApi,
  { namespace, deployment }: TearDownWish,
  signal: AbortSignal,
): Promise<void> {
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${deployment}/scale`;
  const body = { spec: { replicas: 0 } };
  await orGone(api.call({ method: "PATCH", path, contentType: "application/merge-patch+json", body }, signal));
}

async function deletePod({ api, logger }: TearDownDeps, pod: ObservedPod, signal: AbortSignal): Promise<void> {
  const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid: pod.uid } };
  await orGone(api.call({ method: "DELETE", path: `${podsPath(pod.namespace)}/${pod.name}`, body }, signal));
  logger.info({ namespace: pod.namespace, pod: pod.name }, "agent's pod deleted");
}

async function podsOf(api: KubeApi, namespace: string, labelSelector: string, signal: AbortSignal) {
  const answer = await api.call({ method: "GET", path: podsPath(namespace), query: { labelSelector } }, signal);
  return (answer as { readonly items: readonly unknown[] }).items.map(observePod);
}

async function untilNone(
  { clock }: TearDownDeps,
  what: string,
  list: () => Promise<readonly ObservedPod[]>,
  end: number,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const left = await list();
    if (left.length === 0) return;
    if (clock.monotonicMs() >= end) {
      const names = left.map(({ namespace, name }) => `${namespace}/${name}`);
      throw new DomainError("deadline", `${what} are still there: ${names.slice(0, 5).join(", ")}`);
    }
    await clock.sleep(LOOK_MS, signal);
  }
}

/** Ignores `not-found`. */
async function orGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (err) {
    if (!isFault(err, "not-found")) throw err;
  }
}

function podsPath(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/pods`;
}
