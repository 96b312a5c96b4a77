/** `gt-controller --help`. */
export const help = `Runs agents in pods of a Kubernetes cluster, and serves them behind one endpoint.

Usage:
  gt-controller --config FILE [flags]             serve until SIGTERM; N equal replicas, one of which writes
  gt-controller check --config FILE               say what is wrong with FILE
  gt-controller init-ca --config FILE [flags]     make what is missing: the CA, the first client's files
  gt-controller rotate-ca --config FILE [flags]   begin to replace the CA, or say how far that is
  gt-controller uninstall --config FILE [flags]   stop the controllers, delete what they made

The chart runs them: charts/gastown. In a pod the cluster is the pod's own; elsewhere it is that of --kubeconfig.

  --config FILE       what the chart writes as controller.yaml                        GT_CONTROLLER_CONFIG
  --namespace NAME    that of the controllers (gastown-system)                        GT_NAMESPACE
  --release NAME      what the chart's objects are named after (gastown)
  --kubeconfig FILE   the cluster's                                                   KUBECONFIG
  --context NAME      in the kubeconfig (its current one)
  --log-level LEVEL   debug, info, warn, error or silent (info); serving: that of FILE
  --help, --version

Serving, GT_POD_NAME names the replica in the Lease gastown-controller (the host name).

init-ca:
  --client NAME       the first client: its certificate, and the issuer of its tokens (admin)
  --project NAME      of its tokens, for what is printed (that of the first namespace)

rotate-ca:
  Makes the next CA, unless next.crt and next.key are in the CA's Secret. The replica that leads takes the steps, each when every
  sidecar has followed; the old CA counts for ca.keep_previous longer. Say it again to see how far it is.

uninstall:
  --client NAME       as for init-ca
  --timeout TIME      for pods to end (4m)

Exit codes: 0 done, or stopped; 2 bad flags or a wrong file; 3 not found; 4 the cluster does not answer or refuses; 1 a bug.

Examples:
  gt-controller check --config controller.yaml
  gt-controller --config controller.yaml --kubeconfig ~/.kube/config --namespace gastown-system
  gt-controller init-ca --config controller.yaml --kubeconfig ~/.kube/config
  gt-controller rotate-ca --config controller.yaml --kubeconfig ~/.kube/config
  gt-controller uninstall --config controller.yaml --kubeconfig ~/.kube/config --context test
`;
