import type { TestCluster } from "./cluster.ts";

const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";

/** The rights of an account in a namespace: `resources names: verbs`, sorted. */
export async function rulesOf(cluster: TestCluster, account: string, namespace: string): Promise<readonly string[]> {
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace } };
  const asked = ["create", "--raw", REVIEWS, "-f", "-", `--as=${account}`];
  const answer = JSON.parse(await cluster.kubectl(asked, JSON.stringify(review)));
  interface Rule {
    readonly verbs: readonly string[];
    readonly resources: readonly string[];
    readonly resourceNames?: readonly string[];
  }
  return (answer.status.resourceRules as readonly Rule[])
    .map(
      ({ verbs, resources, resourceNames = [] }) =>
        `${[...resources, ...resourceNames].join(" ")}: ${[...verbs].sort()}`,
    )
    .sort();
}
