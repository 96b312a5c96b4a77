/** `gt-controller --help`. */
export const help = `Runs agents in pods of a Kubernetes cluster, and serves them behind one endpoint.

Usage:
  gt-controller --config FILE [flags]             serve until SIGTERM; all replicas serve, one of them writes
  gt-controller check --config FILE               report errors in FILE and in the files that it names, by line
  gt-controller init-ca --config FILE [flags]     create the CA and the first client's files if they are missing
  gt-controller rotate-ca --config FILE [flags]   begin to replace the CA, or report the progress
  gt-controller uninstall --config FILE [flags]   stop the controllers, delete what they created

The chart charts/gastown runs these commands. In a pod, the cluster is the pod's own; elsewhere, it comes from --kubeconfig.

  --config FILE       the configuration; the chart writes it as controller.yaml       GT_CONTROLLER_CONFIG
  --namespace NAME    the namespace of the controllers (gastown-system)               GT_NAMESPACE
  --release NAME      the Helm release, the prefix of its objects' names (gastown)
  --kubeconfig FILE   the kubeconfig of the cluster                                   KUBECONFIG
  --context NAME      the context in the kubeconfig (the current one)
  --log-level LEVEL   debug, info, warn, error or silent (info; when serving, that of FILE)
  --help, --version

When serving, GT_POD_NAME is the replica's name in the Lease gastown-controller (the host name).

init-ca:
  --client NAME       the first client: the name in its certificate and the issuer of its tokens (admin)
  --project NAME      the project in the printed commands (that of the first namespace)

rotate-ca:
  Creates the next CA, unless next.crt and next.key are in the CA's Secret. The leading replica takes each step once every
  sidecar has followed the previous one; the old CA is accepted for ca.keep_previous longer.
  --progress          begin nothing, only report; without it a replacement that is complete is followed by another

uninstall:
  --client NAME       as for init-ca
  --timeout TIME      how long to wait for pods to end (4m)
  --hook              do nothing unless Helm installed the release; the chart's hook sets it

Exit codes: 0 done, or stopped; 2 bad flags or an invalid file; 3 not found; 4 the cluster does not answer, or refuses; 1 a bug.

Examples:
  gt-controller check --config controller.yaml
  gt-controller --config controller.yaml --kubeconfig ~/.kube/config --namespace gastown-system
  gt-controller init-ca --config controller.yaml --kubeconfig ~/.kube/config
  gt-controller rotate-ca --config controller.yaml --kubeconfig ~/.kube/config
  gt-controller uninstall --config controller.yaml --kubeconfig ~/.kube/config --context test
`;
