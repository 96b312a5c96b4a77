import { dirname, resolve } from "node:path";
import { programNames } from "../../internal/agents/known-programs.ts";
import { agentTokenRules } from "../../internal/auth/agent-token-block.ts";
import type { AuthBlock } from "../../internal/auth/auth-config.ts";
import { readConfigText } from "../../internal/config/config-file.ts";
import type { AgentTemplate, EnvSource, Placement, Workspace } from "../../internal/controller/pods/agent-template.ts";
import type {
  ControllerSettings,
  NamespaceBinding,
  SetUpSecret,
  ThreadsSettings,
} from "../../internal/controller/pods/settings.ts";
import { type ControllerValues, controllerFile, type ProviderBlock } from "./config-schema.ts";

/** The configuration file, read and checked. */
export interface ControllerConfig {
  readonly settings: ControllerSettings;
  readonly server: ControllerValues["server"];
  /** For `openAuth`; undefined: every token is rejected. */
  readonly auth: AuthBlock | undefined;
  /** Base URL of a span collector; undefined: the one in the environment; without either, no spans are created. */
  readonly otlpEndpoint: string | undefined;
  /** Undefined: stderr. */
  readonly auditPath: string | undefined;
  readonly logging: ControllerValues["logging"];
}

/**
 * Reads the text of the configuration file, but none of the files that it names. No key turns a check off.
 * @param path of the file, for faults and for relative paths
 * @throws as `readConfigText`
 */
export function readControllerConfig(text: string, path: string): ControllerConfig {
  return configOf(readConfigText(text, controllerFile, { file: path, folder: dirname(resolve(path)) }).value);
}

/** The configuration that the values of the file describe. */
export function configOf(file: ControllerValues): ControllerConfig {
  const { trust_domain, ca, namespaces, sessions, limits, input, clients, session_tokens, secrets, bd } = file;
  const templates = new Map(Object.entries(file.providers).map(([id, block]) => [id, templateOf(id, block)]));
  return {
    settings: {
      trustDomain: trust_domain,
      ca: {
        namespace: ca.namespace,
        secret: ca.secret,
        reloadMs: ca.reload,
        keepPreviousMs: ca.keep_previous,
      },
      namespaces: namespaces.map((one) => bindingOf(one, templates)),
      sessions: {
        maxPerProject: sessions.max_per_project,
        maxGlobal: sessions.max_global,
        retentionMs: sessions.retention,
        startTimeoutMs: sessions.start_timeout,
        startsPerMinute: limits.starts_per_minute,
        inputsPerMinute: limits.inputs_per_minute,
        maxInputBytes: input.max_size_bytes,
      },
      directRead: clients.direct_read,
      sessionTokens: session_tokens && agentTokenRules(session_tokens),
      threads: threadsOf(session_tokens),
      secrets: secrets.map(secretOf),
      bd,
    },
    server: file.server,
    auth: file.auth,
    otlpEndpoint: file.tracing.otlp_endpoint,
    auditPath: file.audit?.path,
    logging: file.logging,
  };
}

function threadsOf(tokens: ControllerValues["session_tokens"]): ThreadsSettings | undefined {
  return tokens?.url === undefined ? undefined : { url: tokens.url, caPath: tokens.ca_path };
}

function secretOf({ name, owner, client, server: hosts }: ControllerValues["secrets"][number]): SetUpSecret {
  const content = (): SetUpSecret["content"] => {
    if (client !== undefined) return { type: "client", client };
    return hosts === undefined ? { type: "token-key" } : { type: "server", hosts };
  };
  return { name, owner, content: content() };
}

function bindingOf(
  { name, project, providers, plaintext, adopt }: ControllerValues["namespaces"][number],
  templates: ReadonlyMap<string, AgentTemplate>,
): NamespaceBinding {
  const offered = [...templates].filter(([id]) => providers === undefined || providers.includes(id));
  return {
    name,
    project,
    templates: new Map(offered),
    credentials: plaintext ? "plaintext" : "secret",
    adoption: adopt,
  };
}

/** A provider with the name of a profile runs that profile, unless it names another. */
function templateOf(id: string, block: ProviderBlock): AgentTemplate {
  const agent = block.agent ?? programNames.find((name) => name === id);
  return {
    image: block.image,
    imagePullPolicy: block.image_pull_policy,
    imagePullSecrets: block.image_pull_secrets,
    agent,
    command: block.command,
    env: block.env,
    envFrom: block.env_from.map(envSourceOf),
    options: block.options,
    isolation: block.isolation,
    resources: block.resources,
    sidecarResources: block.sidecar_resources,
    workspace: workspaceOf(block.workspace),
    graceMs: block.grace,
    user: block.user ?? undefined,
    placement: placementOf(block),
  };
}

function envSourceOf(source: ProviderBlock["env_from"][number]): EnvSource {
  const { optional } = source;
  return "secret" in source
    ? { type: "secret", name: source.secret, optional }
    : { type: "config-map", name: source.config_map, optional };
}

function workspaceOf({ size, claim, git }: ProviderBlock["workspace"]): Workspace {
  if (claim !== undefined) return { type: "claim", claimName: claim };
  if (git === undefined) return { type: "empty-dir", sizeLimit: size };
  const { url, ref, depth, path, credentials_secret } = git;
  return {
    type: "git",
    sizeLimit: size,
    url,
    depth,
    path,
    ref,
    credentialsSecret: credentials_secret,
  };
}

function placementOf(block: ProviderBlock): Placement {
  return {
    nodeSelector: block.node_selector,
    tolerations: block.tolerations,
    ...(block.service_account !== undefined && { serviceAccountName: block.service_account }),
    ...(block.runtime_class !== undefined && { runtimeClassName: block.runtime_class }),
    ...(block.priority_class !== undefined && { priorityClassName: block.priority_class }),
  };
}
