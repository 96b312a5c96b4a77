// Generates the pods of deploy/k8s with the builder of the controller's pods, adding comments for people who copy them.
import { Document, isMap, isScalar, isSeq, type YAMLMap } from "yaml";
import {
  type AgentTemplate,
  DEFAULT_RESOURCES,
  DEFAULT_SIDECAR_RESOURCES,
  DEFAULT_USER,
  WORKSPACE,
} from "../../internal/controller/pods/agent-template.ts";
import { adoptedSecretName, LABELS } from "../../internal/controller/pods/names.ts";
import { type AgentPodPlan, agentPod } from "../../internal/controller/pods/pod-template.ts";

const POD = "agent-example";
const NAME_LABEL = "app.kubernetes.io/name";
/** The session id of the adopted pod. */
const ADOPTED = "example";

const TEMPLATE: AgentTemplate = {
  image: "gt-sidecar:0.1.0",
  imagePullSecrets: [],
  command: [],
  env: {},
  envFrom: [],
  options: {},
  isolation: "embedded",
  resources: DEFAULT_RESOURCES,
  sidecarResources: DEFAULT_SIDECAR_RESOURCES,
  workspace: { type: "empty-dir", sizeLimit: "2Gi" },
  graceMs: 20_000,
  user: DEFAULT_USER,
  placement: { nodeSelector: {}, tolerations: [] },
};

const MTLS: AgentPodPlan = {
  name: POD,
  labels: { [LABELS.agent]: "example", [LABELS.rig]: "example", [LABELS.role]: "polecat" },
  annotations: {},
  template: TEMPLATE,
  address: "example/polecats/example",
  sessionId: POD,
  project: undefined,
  workdir: WORKSPACE,
  agentEnv: {},
  credentials: { type: "secret", name: `${POD}-tls` },
  allowClients: [],
  lingerMs: 0,
  gated: false,
};

const HEADERS = {
  "sidecar-pod.yaml": `An agent with gt-sidecar as the container's first process, reached in plaintext within its namespace.

GT_SIDECAR_INSECURE accepts that only the network protects the sidecar: apply network-policy.yaml with it, in a
cluster whose network enforces policies. sidecar-pod-mtls.yaml is the same pod with certificates.

  kubectl apply -f network-policy.yaml -f sidecar-pod.yaml
  kubectl port-forward pod/agent-example 9090:9090     then: gt peek --host 127.0.0.1 --port 9090 agent`,
  "sidecar-pod-mtls.yaml": `An agent with gt-sidecar as the container's first process, reached by mutual TLS.

The Secret holds tls.crt, tls.key and ca.crt (and crl.pem, to revoke certificates):
  kubectl create secret generic agent-example-tls --from-file=tls.crt --from-file=tls.key --from-file=ca.crt

The agent runs as the same user in the same container, so it can read the key: give each session its own
certificate, for server authentication only.`,
  "sidecar-pod-two-containers.yaml": `An agent whose sidecar runs in a separate container, for agents that are not trusted with the sidecar's key.

The supervising half starts the agent and tmux; the serving half has the port, the key and the roles. They share only the
state folder. The Secret is the one in sidecar-pod-mtls.yaml. Needs Kubernetes 1.29 (sidecar containers).`,
  "adopted-deployment.yaml": `A Deployment whose pod gt-controller adopts as the session "example", in a namespace of the chart. The chart's values:

  namespaces:
    - name: gastown-agents
      project: default
      create: true
      adoptAccounts: ["system:serviceaccount:kube-system:replicaset-controller"]

Then:

  kubectl -n gastown-agents apply -f adopted-deployment.yaml
  gt wait example --for idle && gt nudge example "hello"

The controller writes the Secret once the pod exists, and keeps its certificate current. One session
needs one replica and the strategy Recreate: an id names one session.`,
} as const;

const PLANS: Readonly<Record<keyof typeof HEADERS, AgentPodPlan>> = {
  "sidecar-pod.yaml": { ...MTLS, sessionId: undefined, credentials: { type: "plaintext" } },
  "sidecar-pod-mtls.yaml": MTLS,
  "sidecar-pod-two-containers.yaml": { ...MTLS, template: { ...TEMPLATE, isolation: "containers" } },
  "adopted-deployment.yaml": {
    ...MTLS,
    labels: { [NAME_LABEL]: POD, ...MTLS.labels, [LABELS.session]: ADOPTED, [LABELS.provider]: "demo" },
    sessionId: ADOPTED,
    project: "default",
    credentials: { type: "secret", name: adoptedSecretName(ADOPTED, "") },
    lingerMs: 1_200_000,
  },
};

/** The comments that only the adopted pod gets. */
const ADOPTED_COMMENTS = {
  "gastown.io/agent": "Without this label a pod is not adopted. Labels of a pod cannot be changed later.",
  "gastown.io/session": "The session's id, which names its Secret: gastown-session-<id>.",
  "gastown.io/provider":
    "Shown by gt agents; may be left out. With rig and role, the agent's address is example/polecats/example.",
  GT_SESSION_ID: "As the label gastown.io/session.",
  GT_PROJECT: "The project of the namespace.",
  GT_SIDECAR_LINGER: "Its events stay readable after a stop: the chart's sessions.retention, and ten minutes.",
};

/** Comments, by the key or the list entry's name above which each is placed. */
function commentsOf({ sessionId, template, labels }: AgentPodPlan): Readonly<Record<string, string>> {
  const isEmbedded = template.isolation === "embedded";
  return {
    terminationGracePeriodSeconds: isEmbedded
      ? "The sidecar asks the agent to end, then kills it, within --grace; the remaining time is for the kubelet."
      : "The agent is asked to end, then killed, within --grace; the serving half ends last.",
    ...(isEmbedded
      ? {
          startupProbe:
            "A container killed by a probe loses the agent's work: liveness is lenient and checks only the process.",
        }
      : { livenessProbe: "No startup probe: it would delay the other container, for which this one waits." }),
    NODE_OPTIONS:
      "The limits that gt-sidecar sets for a serving half it starts: a heap far below the container's limit, and little memory kept after floods.",
    ...(sessionId !== undefined && {
      GT_SESSION_ID: `As in the certificate: spiffe://<trust domain>/ns/<namespace>/session/${sessionId}`,
    }),
    ...(labels[LABELS.session] !== undefined && ADOPTED_COMMENTS),
  };
}

/** The generated files by name. */
export function podManifests(): Readonly<Record<string, string>> {
  const entries = Object.entries(PLANS) as [keyof typeof HEADERS, AgentPodPlan][];
  return Object.fromEntries(entries.map(([name, plan]) => [name, manifestText(HEADERS[name], plan)]));
}

function manifestText(header: string, plan: AgentPodPlan): string {
  // YAML 1.1, which Kubernetes reads: 0440 is octal there.
  const object = plan.labels[LABELS.session] === undefined ? agentPod(plan) : deploymentOf(plan);
  const document = new Document(object, { version: "1.1" });
  annotate(document.contents, commentsOf(plan));
  const lines = `${header}\n\nGenerated by npm run generate.`
    .split("\n")
    .map((line) => (line === "" ? "#" : `# ${line}`));
  return `${lines.join("\n")}\n${document.toString({ lineWidth: 0, flowCollectionPadding: false, directives: false })}`;
}

function deploymentOf(plan: AgentPodPlan): object {
  const { metadata, spec } = agentPod(plan);
  const { labels } = plan;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: metadata?.name },
    spec: {
      replicas: 1,
      strategy: { type: "Recreate" },
      selector: { matchLabels: { [NAME_LABEL]: labels[NAME_LABEL] } },
      template: { metadata: { labels }, spec: { ...spec, restartPolicy: "Always" } },
    },
  };
}

function annotate(node: unknown, comments: Readonly<Record<string, string>>): void {
  if (isMap(node)) for (const pair of node.items) annotatePair(pair, comments);
  if (!isSeq(node)) return;
  for (const item of node.items) {
    const text = isMap(item) ? comments[String(item.get("name"))] : undefined;
    if (isMap(item) && text !== undefined) item.commentBefore = ` ${text}`;
    annotate(item, comments);
  }
}

function annotatePair({ key, value }: YAMLMap["items"][number], comments: Readonly<Record<string, string>>): void {
  if (!isScalar(key)) return;
  const text = comments[String(key.value)];
  if (text !== undefined) key.commentBefore = ` ${text}`;
  if (isScalar(value) && key.value === "defaultMode") value.format = "OCT";
  if (isSeq(value) && (key.value === "args" || key.value === "drop")) value.flow = true;
  annotate(value, comments);
}
