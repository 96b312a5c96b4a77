import type { Socket } from "node:net";
import { DomainError } from "../../base/errors.ts";
import { kubeContext } from "../../kube/access/kube-context.ts";
import { isFault } from "../../kube/kube-errors.ts";
import { PortForward } from "../../kube/port-forward.ts";
import { nativeSocket } from "../../rpc/client/native-socket.ts";
import { domainErrorOf } from "../../rpc/common/errors.ts";
import { type AgentPod, podText } from "../finding/agent-pods.ts";
import { clusterText } from "./cluster-agents.ts";
import { explainCluster } from "./cluster-failures.ts";
import type { PlaceConfig } from "./place-config.ts";

/** The way to one pod's sidecar. */
export interface PodDial {
  /** A new connection; may still be opening. */
  readonly dial: () => Socket;
  /** Converts a failed call over the newest connection. */
  readonly toError: (err: unknown) => unknown;
}

/** Opens a way to the pod's sidecar, which listens on `port`. @throws as `kubeContext` */
export async function podDial(
  pod: Pick<AgentPod, "namespace" | "name">,
  port: number,
  { cluster, env }: Pick<PlaceConfig, "cluster" | "env">,
): Promise<PodDial> {
  if (cluster === undefined) throw new Error("a pod was found without a cluster");
  const { credentials } = await kubeContext(cluster.context, env);
  let failed: Error | undefined;
  return {
    dial: () => {
      const forward = new PortForward(credentials, { namespace: pod.namespace, pod: pod.name, port });
      failed = undefined;
      forward.once("error", (err) => {
        failed = err;
      });
      return nativeSocket(forward);
    },
    toError: (err) => {
      if (failed === undefined) return withHint(domainErrorOf(err));
      if (isFault(failed, "not-found"))
        return new DomainError("not-found", `${podText(pod)} is gone`, { cause: failed });
      return explainCluster(failed, clusterText(cluster));
    },
  };
}

function withHint(err: unknown): unknown {
  if (!(err instanceof DomainError) || err.kind !== "denied" || err.fields["hint"] !== undefined) return err;
  const hint =
    "directly, callers may only read, at the sidecars of their projects; to write, go through the controller: gt --server HOST:PORT";
  return new DomainError(err.kind, err.message, { fields: { ...err.fields, hint }, cause: err });
}
