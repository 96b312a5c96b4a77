import type {
  V1Container,
  V1ContainerPort,
  V1EnvVar,
  V1Pod,
  V1PodSecurityContext,
  V1PodSpec,
  V1Volume,
  V1VolumeMount,
} from "@kubernetes/client-node";
import { TOKEN_FILE_VARIABLE } from "../../auth/agent-token.ts";
import { type AgentTemplate, WORKSPACE } from "./agent-template.ts";
import { CERTIFICATE_GATE } from "./names.ts";
import { envFromOf, hardened, literal, livenessProbe, readinessProbe, resourcesOf, startupProbe } from "./pod-parts.ts";
import { workspaceContainers, workspaceVolumes } from "./pod-workspace.ts";

/** The inputs of an agent's pod. */
export interface AgentPodPlan {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly template: AgentTemplate;
  /** The agent's full address. */
  readonly address: string;
  /** Undefined: the pod's uid. */
  readonly sessionId: string | undefined;
  /** Undefined: the sidecar's default. */
  readonly project: string | undefined;
  /** `/workspace` or a folder below it. */
  readonly workdir: string;
  /** Environment variables from the caller's options. */
  readonly agentEnv: Readonly<Record<string, string>>;
  /** Protection of the sidecar's port: mutual TLS with the files of a Secret, or plaintext behind a network policy. */
  readonly credentials: { readonly type: "secret"; readonly name: string } | { readonly type: "plaintext" };
  /** A Secret with the session's token, mounted in the agent's container at `/etc/gt/session`. */
  readonly sessionSecret?: string;
  /** The threads server whose tools the agent gets; its CA is `ca.crt` of `sessionSecret`. Absent: no tools. */
  readonly threadsUrl?: string | undefined;
  /** Rules for `--allow-client`; empty: the controllers of the trust domain. */
  readonly allowClients: readonly string[];
  /** How long the sidecar serves after the agent's end, ms; 0: not at all. */
  readonly lingerMs: number;
  /** True: the scheduler waits until the gate `gastown.io/certificate` is removed. */
  readonly gated: boolean;
}

const TLS_DIR = "/etc/gt/tls";
const SESSION_DIR = "/etc/gt/session";
const STATE_DIR = "/run/gt/state";
/** Added to the agent's grace for the kubelet. */
const KUBELET_GRACE_MS = 10_000;

/** The pod of one agent; it satisfies Pod Security "restricted". */
export function agentPod(plan: AgentPodPlan): V1Pod {
  const { name, labels, annotations } = plan;
  const hasAnnotations = Object.keys(annotations).length > 0;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { ...labels }, ...(hasAnnotations && { annotations: { ...annotations } }) },
    spec: podSpec(plan),
  };
}

function podSpec(plan: AgentPodPlan): V1PodSpec {
  const { template, gated, workdir } = plan;
  const { placement, imagePullSecrets } = template;
  const init = workspaceContainers(template, workdir);
  const isEmbedded = template.isolation === "embedded";
  if (!isEmbedded) init.push(servingContainer(plan));
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    restartPolicy: "OnFailure",
    ...placementOf(placement),
    ...(imagePullSecrets.length > 0 && { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
    ...(gated && { schedulingGates: [{ name: CERTIFICATE_GATE }] }),
    terminationGracePeriodSeconds: Math.ceil((template.graceMs + KUBELET_GRACE_MS) / 1000),
    securityContext: podSecurity(template.user),
    ...(init.length > 0 && { initContainers: init }),
    containers: [isEmbedded ? embeddedContainer(plan) : agentContainer(plan)],
    volumes: volumesOf(plan),
  };
}

function placementOf({ nodeSelector, tolerations, ...rest }: AgentTemplate["placement"]): Partial<V1PodSpec> {
  return {
    ...rest,
    ...(Object.keys(nodeSelector).length > 0 && { nodeSelector: { ...nodeSelector } }),
    ...(tolerations.length > 0 && { tolerations: tolerations.map((one) => ({ ...one })) }),
  };
}

function podSecurity(user: number | undefined): V1PodSecurityContext {
  const ids = user === undefined ? {} : { runAsUser: user, runAsGroup: user, fsGroup: user };
  return { runAsNonRoot: true, ...ids, seccompProfile: { type: "RuntimeDefault" } };
}

/** The embedded container: serving and supervising halves in one, with the supervising half as its first process. */
function embeddedContainer(plan: AgentPodPlan): V1Container {
  const { template } = plan;
  return {
    ...imageOf("agent", template),
    args: [...graceArgs(template), ...commandArgs(template)],
    env: [...servingEnv(plan), stateDir(), ...identityEnv(plan), ...agentEnv(plan)],
    ...envFrom(template),
    ports: ports(),
    startupProbe: startupProbe(),
    livenessProbe: livenessProbe(),
    readinessProbe: readinessProbe(),
    resources: resourcesOf(template.resources),
    securityContext: hardened(),
    volumeMounts: [mount("state", "/run/gt"), ...agentMounts(plan), ...tlsMounts(plan)],
  };
}

/**
 * The serving half, with the port and the key. It has no startup probe, which would delay the agent's container, for
 * which the serving half waits.
 */
function servingContainer(plan: AgentPodPlan): V1Container {
  const { template } = plan;
  const nodeOptions = { name: "NODE_OPTIONS", value: "--max-old-space-size=384 --max-semi-space-size=4" };
  return {
    ...imageOf("sidecar", template),
    restartPolicy: "Always",
    args: ["serve", ...commandArgs(template)],
    env: [
      ...servingEnv(plan),
      stateDir(),
      nodeOptions,
      ...profileEnv(template),
      ...workdirEnv(plan),
      ...identityEnv(plan),
      ...threadsEnv(plan),
    ],
    ports: ports(),
    livenessProbe: livenessProbe(60),
    readinessProbe: readinessProbe(),
    resources: resourcesOf(template.sidecarResources),
    securityContext: hardened(),
    volumeMounts: [mount("state", "/run/gt"), mount("sidecar-tmp", "/tmp"), ...tlsMounts(plan)],
  };
}

/** The supervising half, beside the agent. Nothing of the serving half, such as the key, is mounted here. */
function agentContainer(plan: AgentPodPlan): V1Container {
  const { template } = plan;
  return {
    ...imageOf("agent", template),
    args: ["supervise", ...graceArgs(template), ...commandArgs(template)],
    env: [stateDir(), ...agentEnv(plan)],
    ...envFrom(template),
    resources: resourcesOf(template.resources),
    securityContext: hardened(),
    volumeMounts: [mount("state", "/run/gt"), ...agentMounts(plan)],
  };
}

function imageOf(name: string, { image, imagePullPolicy }: AgentTemplate): V1Container {
  return { name, image, ...(imagePullPolicy !== undefined && { imagePullPolicy }) };
}

function graceArgs({ graceMs }: AgentTemplate): string[] {
  return ["--grace", `${Math.round(graceMs / 1000)}s`];
}

function commandArgs({ command }: AgentTemplate): string[] {
  return command.length === 0 ? [] : ["--", ...command.map(literal)];
}

function servingEnv({ credentials, allowClients, lingerMs }: AgentPodPlan): V1EnvVar[] {
  const isPlain = credentials.type === "plaintext";
  return [
    { name: "GT_SIDECAR_LISTEN", value: "0.0.0.0:9090" },
    isPlain ? { name: "GT_SIDECAR_INSECURE", value: "1" } : { name: "GT_TLS_DIR", value: TLS_DIR },
    ...(isPlain || allowClients.length === 0 ? [] : [{ name: "GT_ALLOW_CLIENTS", value: allowClients.join(",") }]),
    { name: "GT_SIDECAR_HEALTH_LISTEN", value: "0.0.0.0:9091" },
    ...(lingerMs > 0 ? [{ name: "GT_SIDECAR_LINGER", value: `${Math.ceil(lingerMs / 1000)}s` }] : []),
  ];
}

function stateDir(): V1EnvVar {
  return { name: "GT_SIDECAR_STATE_DIR", value: STATE_DIR };
}

function identityEnv({ address, project, sessionId }: AgentPodPlan): V1EnvVar[] {
  return [
    { name: "GT_AGENT_ADDRESS", value: literal(address) },
    ...(project === undefined ? [] : [{ name: "GT_PROJECT", value: literal(project) }]),
    sessionId === undefined
      ? { name: "GT_SESSION_ID", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } }
      : { name: "GT_SESSION_ID", value: sessionId },
  ];
}

function profileEnv({ agent }: AgentTemplate): V1EnvVar[] {
  return agent === undefined ? [] : [{ name: "GT_AGENT", value: agent }];
}

/** The image's default is `/workspace`. */
function workdirEnv({ workdir }: AgentPodPlan): V1EnvVar[] {
  return workdir === WORKSPACE ? [] : [{ name: "GT_AGENT_WORKDIR", value: literal(workdir) }];
}

/** The agent's environment. A caller's option overrides the template's default. */
function agentEnv(plan: AgentPodPlan): V1EnvVar[] {
  const { template, agentEnv: options, sessionSecret } = plan;
  const token = sessionSecret === undefined ? [] : [tokenEnv()];
  const own = Object.entries({ ...template.env, ...options });
  return [
    ...profileEnv(template),
    ...workdirEnv(plan),
    ...(plan.threadsUrl === undefined ? token : threadsEnv(plan)),
    ...own.map(([name, value]) => ({ name, value: literal(value) })),
  ];
}

function tokenEnv(): V1EnvVar {
  return { name: TOKEN_FILE_VARIABLE, value: `${SESSION_DIR}/token` };
}

/**
 * Both halves of the sidecar need these to plan the launch of the agent; the files are in the agent's container only.
 */
function threadsEnv({ threadsUrl }: AgentPodPlan): V1EnvVar[] {
  if (threadsUrl === undefined) return [];
  return [
    { name: "GT_THREADS", value: literal(threadsUrl) },
    tokenEnv(),
    { name: "GT_THREADS_CA", value: `${SESSION_DIR}/ca.crt` },
  ];
}

function envFrom({ envFrom: sources }: AgentTemplate): Pick<V1Container, "envFrom"> {
  return sources.length === 0 ? {} : { envFrom: envFromOf(sources) };
}

function ports(): V1ContainerPort[] {
  return [
    { name: "sidecar", containerPort: 9090 },
    { name: "health", containerPort: 9091 },
  ];
}

function agentMounts({ sessionSecret }: AgentPodPlan): V1VolumeMount[] {
  const token = sessionSecret === undefined ? [] : [{ ...mount("session", SESSION_DIR), readOnly: true }];
  return [mount("tmp", "/tmp"), mount("home", "/home/agent"), mount("workspace", WORKSPACE), ...token];
}

function tlsMounts({ credentials }: AgentPodPlan): V1VolumeMount[] {
  return credentials.type === "plaintext" ? [] : [{ ...mount("tls", TLS_DIR), readOnly: true }];
}

function mount(name: string, mountPath: string): V1VolumeMount {
  return { name, mountPath };
}

function volumesOf({ template, credentials, sessionSecret }: AgentPodPlan): V1Volume[] {
  const scratch = (name: string, sizeLimit: string): V1Volume => ({ name, emptyDir: { sizeLimit } });
  return [
    scratch("state", "256Mi"),
    ...(template.isolation === "containers" ? [scratch("sidecar-tmp", "64Mi")] : []),
    scratch("tmp", "1Gi"),
    scratch("home", "1Gi"),
    ...workspaceVolumes(template.workspace),
    ...(credentials.type === "plaintext"
      ? []
      : [{ name: "tls", secret: { secretName: credentials.name, defaultMode: 0o440 } }]),
    ...(sessionSecret === undefined
      ? []
      : [{ name: "session", secret: { secretName: sessionSecret, defaultMode: 0o440, optional: true } }]),
  ];
}
