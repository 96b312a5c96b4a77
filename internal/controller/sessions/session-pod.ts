import { posix } from "node:path";
import { DomainError } from "../../base/errors.ts";
import { checkAgent, withoutAgent } from "../../bridge/session-agent.ts";
import { type AgentTemplate, WORKSPACE } from "../pods/agent-template.ts";
import { ANNOTATIONS, LABELS, labelValue, MANAGED_BY, podName, secretName, tokenSecretName } from "../pods/names.ts";
import type { AgentPodPlan } from "../pods/pod-template.ts";
import { type ClientRules, LINGER_MARGIN_MS, type NamespaceBinding } from "../pods/settings.ts";

/** A session to start. */
export interface WantedSession {
  readonly id: string;
  readonly provider: string;
  readonly repoPath: string;
  readonly agentOpts: Readonly<Record<string, string>>;
  /** The agent's full address; undefined: the id. */
  readonly address?: string;
  readonly rig?: string;
  readonly role?: string;
  readonly town?: string;
  readonly bead?: string;
  /** Identity of the caller. */
  readonly startedBy: string;
}

export interface SessionPodOptions {
  readonly retentionMs: number;
  readonly allowClients: ClientRules;
  /** Each agent gets a token in its own Secret, except in plaintext namespaces, which have no Secrets of ours. */
  readonly hasTokens: boolean;
  /** The roles that tokens can have. Absent: there are no tokens. */
  readonly roles?: readonly string[];
  /** The server whose tools an agent with a token gets; absent: none. */
  readonly threadsUrl?: string | undefined;
}

const MAX_OPTION_BYTES = 1024;

/**
 * The plan of a session's pod; determined by the session.
 * @throws DomainError `precondition` for a provider without a template here and for a mode that pods do not have,
 * `denied` for a path outside the workspace and a role that agents may not have, `invalid` for a path or an option that
 * cannot be used
 */
export function sessionPodPlan(
  session: WantedSession,
  binding: NamespaceBinding,
  { retentionMs, allowClients, hasTokens, roles = [], threadsUrl }: SessionPodOptions,
): AgentPodPlan {
  checkAgent(session.agentOpts, roles);
  const template = templateOf(binding, session.provider);
  const name = podName(binding.project, session.id);
  const address = session.agentOpts["agent"] ?? session.address ?? session.id;
  return {
    name,
    labels: labelsOf(session, address),
    annotations: annotationsOf(session, address),
    template,
    address,
    sessionId: session.id,
    project: binding.project,
    workdir: workdirOf(session.repoPath),
    agentEnv: optionsEnv(template, withoutAgent(session.agentOpts)),
    credentials:
      binding.credentials === "plaintext" ? { type: "plaintext" } : { type: "secret", name: secretName(name) },
    ...(hasTokens && binding.credentials === "secret" && { sessionSecret: tokenSecretName(name), threadsUrl }),
    allowClients: allowClients(binding.project),
    lingerMs: retentionMs + LINGER_MARGIN_MS,
    gated: binding.credentials === "secret",
  };
}

function templateOf(binding: NamespaceBinding, provider: string): AgentTemplate {
  const template = binding.templates.get(provider);
  if (template !== undefined) return template;
  const known = [...binding.templates.keys()].join(", ") || "none";
  throw new DomainError("precondition", `provider ${JSON.stringify(provider)} is not available for this project`, {
    fields: { hint: `providers here: ${known}` },
  });
}

function labelsOf(session: WantedSession, address: string): Record<string, string> {
  const name = address.slice(address.lastIndexOf("/") + 1);
  const given = {
    [LABELS.agent]: name,
    [LABELS.session]: session.id,
    [LABELS.provider]: session.provider,
    [LABELS.rig]: session.rig,
    [LABELS.role]: session.role,
    [LABELS.town]: session.town,
    [LABELS.bead]: session.bead,
  };
  const labels = Object.entries(given).flatMap(([key, value]) =>
    value === undefined || value === "" ? [] : [[key, labelValue(value)] as const],
  );
  return { ...Object.fromEntries(labels), [LABELS.managedBy]: MANAGED_BY };
}

function annotationsOf(session: WantedSession, address: string): Record<string, string> {
  const opts = Object.entries(session.agentOpts).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    [ANNOTATIONS.address]: address,
    [ANNOTATIONS.sessionId]: session.id,
    [ANNOTATIONS.repoPath]: session.repoPath,
    [ANNOTATIONS.agentOpts]: JSON.stringify(Object.fromEntries(opts)),
    [ANNOTATIONS.startedBy]: session.startedBy,
  };
}

function workdirOf(repoPath: string): string {
  if (!posix.isAbsolute(repoPath) || /\p{Cc}/u.test(repoPath) || Buffer.byteLength(repoPath) > MAX_OPTION_BYTES) {
    throw new DomainError("invalid", `repo_path must be an absolute path of at most ${MAX_OPTION_BYTES} bytes`);
  }
  const path = posix.resolve(repoPath);
  if (path === WORKSPACE || path.startsWith(`${WORKSPACE}/`)) return path;
  throw new DomainError("denied", `repo_path ${JSON.stringify(repoPath)} is not allowed`, {
    fields: { hint: `it must be a path in the pod's workspace: ${WORKSPACE} or a folder below it` },
  });
}

/**
 * Environment variables of the agent from a caller's options. Every pod has the mode `terminal`.
 * @throws DomainError `invalid` for an option that the template does not have, `precondition` for another mode
 */
function optionsEnv(template: AgentTemplate, opts: Readonly<Record<string, string>>): Record<string, string> {
  const { mode, ...rest } = opts;
  if (mode !== undefined && mode !== "terminal") {
    throw new DomainError("precondition", `mode ${JSON.stringify(mode)} is not available in a cluster`, {
      fields: { hint: "pods have a terminal: set mode to terminal, or omit it" },
    });
  }
  const env = Object.entries(rest).map(([name, value]) => {
    const option = Object.hasOwn(template.options, name) ? template.options[name] : undefined;
    if (option === undefined) {
      const known = ["mode", "agent", "role", ...Object.keys(template.options)].join(", ");
      throw new DomainError("invalid", `unknown option ${JSON.stringify(name)}`, {
        fields: { hint: `options: ${known}` },
      });
    }
    if (option.values !== undefined && !option.values.includes(value)) {
      throw new DomainError("invalid", `option ${name} takes ${option.values.join(", ")}`);
    }
    if (Buffer.byteLength(value) > MAX_OPTION_BYTES || /\p{Cc}/u.test(value)) {
      throw new DomainError("invalid", `option ${name} takes one line of at most ${MAX_OPTION_BYTES} bytes`);
    }
    return [option.env, value] as const;
  });
  return Object.fromEntries(env);
}
