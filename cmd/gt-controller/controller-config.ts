import { type Document, isNode, LineCounter, parseDocument } from "yaml";
import { programNames } from "../../internal/agents/known-programs.ts";
import type { AgentTokenRules } from "../../internal/auth/agent-token.ts";
import { DomainError } from "../../internal/base/errors.ts";
import type { AgentTemplate, EnvSource, Placement, Workspace } from "../../internal/controller/pods/agent-template.ts";
import type { ControllerSettings, NamespaceBinding } from "../../internal/controller/pods/settings.ts";
import { type ConfigFile, configSchema, type ProviderBlock } from "./config-schema.ts";

type TokensBlock = NonNullable<ConfigFile["session_tokens"]>;

/** The configuration file, read and checked. */
export interface ControllerConfig {
  readonly settings: ControllerSettings;
  readonly server: ConfigFile["server"];
  /** The block `auth`, for `readAuthConfig`; undefined: no caller can show a token that counts. */
  readonly auth: unknown;
  /** Base URL of a span collector; undefined: the one in the environment; without either, no spans are created. */
  readonly otlpEndpoint: string | undefined;
  /** Undefined: stderr. */
  readonly auditPath: string | undefined;
  readonly logging: ConfigFile["logging"];
}

/**
 * Reads the text of the configuration file. There is no key that turns a check off.
 * @param name appears in errors
 * @throws DomainError `invalid` with `NAME:LINE: key …` for the first thing that is wrong
 */
export function readControllerConfig(text: string, name: string): ControllerConfig {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true });
  const [error] = document.errors;
  if (error !== undefined) throw invalid(name, lines.linePos(error.pos[0]).line, error.message.split("\n")[0] ?? "");
  const parsed = configSchema.safeParse(document.toJS());
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const path = issue?.path ?? [];
    const unknown = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
    const what =
      unknown === undefined ? `${keyText(path)} ${reasonOf(issue)}` : `unknown key ${keyText([...path, unknown])}`;
    throw invalid(name, lineOf(document, lines, unknown === undefined ? path : [...path, unknown]), what);
  }
  const fault = contradictionOf(parsed.data);
  if (fault !== undefined)
    throw invalid(name, lineOf(document, lines, fault.path), `${keyText(fault.path)} ${fault.why}`);
  return configOf(parsed.data);
}

function configOf(file: ConfigFile): ControllerConfig {
  const { trust_domain, ca, namespaces, sessions, limits, input, clients, session_tokens, bd } = file;
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
      ...(session_tokens !== undefined && { sessionTokens: tokenRulesOf(session_tokens) }),
      ...(bd !== undefined && {
        bd: { command: bd.command, ...(bd.workdir !== undefined && { workdir: bd.workdir }) },
      }),
    },
    server: file.server,
    auth: file.auth,
    otlpEndpoint: file.tracing.otlp_endpoint,
    auditPath: file.audit?.path,
    logging: file.logging,
  };
}

function tokenRulesOf({ key_path: keyPath, ttl: ttlMs, ...rest }: TokensBlock): AgentTokenRules {
  return { keyPath, ttlMs, ...rest };
}

function bindingOf(
  { name, project, providers, plaintext, adopt }: ConfigFile["namespaces"][number],
  templates: ReadonlyMap<string, AgentTemplate>,
): NamespaceBinding {
  const offered = [...templates].filter(([id]) => providers === undefined || providers.includes(id));
  return {
    name,
    project,
    templates: new Map(offered),
    credentials: plaintext ? "plaintext" : "secret",
    ...(adopt !== undefined && { adoption: adopt }),
  };
}

/** A provider of the name of a profile runs that profile, unless it names another. */
function templateOf(id: string, block: ProviderBlock): AgentTemplate {
  const agent = block.agent ?? programNames.find((name) => name === id);
  return {
    image: block.image,
    ...(block.image_pull_policy !== undefined && { imagePullPolicy: block.image_pull_policy }),
    imagePullSecrets: block.image_pull_secrets,
    ...(agent !== undefined && { agent }),
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
    ...(ref !== undefined && { ref }),
    ...(credentials_secret !== undefined && { credentialsSecret: credentials_secret }),
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

type Path = readonly PropertyKey[];

/** What no single key shows. */
function contradictionOf({ namespaces, providers, ca }: ConfigFile): { path: Path; why: string } | undefined {
  for (const [i, one] of namespaces.entries()) {
    const path = ["namespaces", i];
    if (namespaces.findIndex(({ name }) => name === one.name) !== i) {
      return { path: [...path, "name"], why: `is bound twice: one namespace belongs to one project (${one.name})` };
    }
    if (one.name === ca.namespace) {
      return { path: [...path, "name"], why: `is the CA's namespace: agents there could mount its key (${one.name})` };
    }
    const unknown = one.providers?.findIndex((id) => providers[id] === undefined) ?? -1;
    if (unknown >= 0) {
      return { path: [...path, "providers", unknown], why: `is not one of providers: ${one.providers?.[unknown]}` };
    }
  }
  return undefined;
}

function reasonOf(
  issue: { readonly message: string; readonly code?: string | undefined; readonly input?: unknown } | undefined,
): string {
  const message = issue?.message ?? "is wrong";
  if (/received undefined/.test(message)) return "is missing";
  return /^(?:must|is|takes)\b/.test(message) ? message : `is wrong: ${message.replace(/^Invalid input: /, "")}`;
}

function keyText(path: Path): string {
  if (path.length === 0) return "the file";
  return path
    .map((part, i) => (typeof part === "number" ? `[${part}]` : `${i === 0 ? "" : "."}${String(part)}`))
    .join("");
}

/** Of the deepest part of the path that is in the file. */
function lineOf(document: Document.Parsed, lines: LineCounter, path: Path): number {
  for (let depth = path.length; depth > 0; depth--) {
    const node = document.getIn(path.slice(0, depth), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

function invalid(name: string, line: number, what: string): DomainError {
  return new DomainError("invalid", `${name}:${line}: ${what}`);
}
