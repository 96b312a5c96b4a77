/** A pod that Pod Security "restricted" admits. */
export function plainPod(name: string, labels: Record<string, string> = {}, annotations: Record<string, string> = {}) {
  const securityContext = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };
  const pod = { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: "RuntimeDefault" } };
  const containers = [{ name: "a", image: "x", securityContext }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels, annotations },
    spec: { securityContext: pod, containers, automountServiceAccountToken: false },
  };
}
