import { DomainError } from "../../base/errors.ts";
import { isFault, type KubeApiError, KubeUnreachableError } from "../../kube/kube-errors.ts";

/** Explains a failed call to a cluster to the person who made the call. `where`: the cluster as messages name it. */
export function explainCluster(err: unknown, where: string): unknown {
  if (err instanceof KubeUnreachableError) {
    const hint = "is the cluster up, and reachable from here? check with kubectl and the same context";
    return new DomainError("unavailable", `${where}: ${err.message}`, { fields: { hint }, cause: err });
  }
  if (isFault(err, "unauthenticated")) {
    const hint = "renew the credentials of the context, as you would for kubectl";
    return new DomainError("unauthenticated", `${where}: the cluster does not accept your credentials`, {
      fields: { hint },
      cause: err,
    });
  }
  if (isFault(err, "forbidden")) {
    return new DomainError("denied", `${where}: ${err.answer}`, { fields: { hint: forbiddenHint(err) }, cause: err });
  }
  return err;
}

function forbiddenHint({ answer }: KubeApiError): string {
  if (/at the cluster scope/.test(answer)) return "give --namespace: you may not list pods in all namespaces";
  return "the chart's value clients.readers binds a role that may (docs/cluster.md); through the controller: gt --server";
}
