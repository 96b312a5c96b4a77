import { isJsonObject } from "../../base/json-fields.ts";
import type { Policy } from "./policy.ts";
import type { Metadata } from "./types.ts";

/** The parameters of a session that takes the place of an agent's last one. */
export interface SessionStart {
  readonly sessionId: string;
  readonly provider: string;
  readonly repoPath: string;
  readonly agentOpts: Readonly<Record<string, string>>;
}

/** An agent's last session that a runtime confirmed. */
export interface LastSession extends SessionStart, AgentConversation {}

/** An agent's conversation: the id that its program gave it, which may be empty. */
interface AgentConversation {
  readonly agentSessionId: string;
  /** The agent has given no sign of life for `stale_after`. */
  readonly isStale: boolean;
}

/** Facts about an agent that no runtime has confirmed, as known from its own calls. */
export interface UnmanagedLife extends AgentConversation {
  /** The agent has called within the last two minutes, so its program may be running. */
  readonly isRecent: boolean;
}

/** The facts by which an agent without a live runtime is recovered; see `planRecovery`. */
export interface RecoveryFacts {
  /** For an unmanaged agent, the session that would continue its conversation. */
  readonly last: LastSession | undefined;
  /** A runtime has confirmed a session of the agent. */
  readonly isManaged: boolean;
  readonly isRecent: boolean;
  /** The last session's provider can continue a conversation. */
  readonly canResume: boolean;
  /** Sessions begun for this wake. */
  readonly resumes: number;
  readonly spawns: number;
  /** Sessions begun for this agent within the last 15 minutes. */
  readonly recentStarts: number;
  /** Sessions spawned in this workspace within the last hour. */
  readonly hourlySpawns: number;
  readonly template: SpawnTemplate | undefined;
}

export type RecoveryStep =
  | { readonly type: "resume" }
  | { readonly type: "spawn" }
  /** The limit of spawned sessions is reached. */
  | { readonly type: "wait" }
  /** No runtime has ever confirmed a session of the agent, and none is started for it. */
  | { readonly type: "unmanaged" }
  /** Only people can help. */
  | { readonly type: "escalate" };

export interface SpawnTemplate {
  readonly provider: string;
  readonly repo_path: string;
  readonly agent_opts?: Readonly<Record<string, string>>;
}

const CRASH_LOOP = 3;
const SPAWNS_AN_HOUR = 5;

/**
 * The next step for an agent whose runtime has reported its end. Its conversation is resumed, at most `resume_max`
 * times for a wake; then a session is spawned from the template of its role, once for a wake. A conversation is not
 * resumed if it is stale, or if three sessions of the agent began within 15 minutes. An unmanaged agent is recovered as
 * far as the policy `unmanaged` permits: `resume` only continues its conversation, `spawn` also spawns.
 */
export function planRecovery(
  facts: RecoveryFacts,
  { resume_max: resumeMax, unmanaged }: Pick<Policy, "resume_max" | "unmanaged">,
): RecoveryStep {
  const { last, isManaged, isRecent, canResume, resumes, spawns, recentStarts, hourlySpawns, template } = facts;
  if (!isManaged && (unmanaged === "refuse" || isRecent)) return { type: "unmanaged" };
  const isKnown = last !== undefined && last.agentSessionId !== "" && canResume;
  const isDue = isKnown && !last.isStale && recentStarts < CRASH_LOOP && resumes < resumeMax && spawns === 0;
  if (isDue) return { type: "resume" };
  if (!isManaged && unmanaged === "resume") return { type: resumes === 0 ? "unmanaged" : "escalate" };
  if (template === undefined || spawns > 0) return { type: "escalate" };
  return hourlySpawns < SPAWNS_AN_HOUR ? { type: "spawn" } : { type: "wait" };
}

/**
 * The session that continues an unmanaged agent's conversation, by the template of its role. Undefined: there is no
 * template, or the agent has not reported its conversation.
 */
export function adoptedSession(
  unmanaged: UnmanagedLife | undefined,
  template: SpawnTemplate | undefined,
): LastSession | undefined {
  if (unmanaged === undefined || unmanaged.agentSessionId === "" || template === undefined) return undefined;
  const { agentSessionId, isStale } = unmanaged;
  const { provider, repo_path: repoPath, agent_opts: agentOpts = {} } = template;
  return { sessionId: "", provider, repoPath, agentOpts, agentSessionId, isStale };
}

/** The workspace's template for a role, or for every role (`*`); undefined: there is none that can be used. */
export function templateFor(spawn: Metadata, role: string): SpawnTemplate | undefined {
  const found = Object.hasOwn(spawn, role) ? spawn[role] : Object.hasOwn(spawn, "*") ? spawn["*"] : undefined;
  return isTemplate(found) ? found : undefined;
}

/** Whether every value of a policy's `spawn` is a template. */
export function areTemplates(spawn: unknown): boolean {
  return isJsonObject(spawn) && Object.values(spawn).every(isTemplate);
}

/**
 * The session options for this agent: replaces the agent that the template or the last session named, and drops
 * `resume`.
 */
export function optionsFor(
  workspace: string,
  agent: string,
  options: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const { resume: _, ...rest } = options;
  const prefix = `${workspace}/`;
  return { ...rest, agent: agent.startsWith(prefix) ? agent.slice(prefix.length) : agent };
}

function isTemplate(value: unknown): value is SpawnTemplate {
  if (!isJsonObject(value)) return false;
  const { provider, repo_path: path, agent_opts: options = {}, ...others } = value;
  const isText = (one: unknown) => typeof one === "string" && one !== "";
  const hasOptions = isJsonObject(options) && Object.values(options).every((one) => typeof one === "string");
  return isText(provider) && isText(path) && hasOptions && Object.keys(others).length === 0;
}
