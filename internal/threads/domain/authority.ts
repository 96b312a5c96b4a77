import type { ThreadStatus } from "./types.ts";

/** Classes of roles. Every role that is not one of the first three is a `worker`. */
export type RoleClass = "operator" | "orchestrator" | "auditor" | "worker";

/** The facts about the caller and the thread that decide whether a status change is allowed. */
export interface AuthorityFacts {
  readonly role: RoleClass;
  readonly disputed: boolean;
  /** The caller itself set the thread to blocked. */
  readonly ownBlock: boolean;
}

export type AuthorityVerdict = "allowed" | "authority" | "invalid";

/**
 * The class of a token's role. If the workspace names its `orchestrator`, any other agent with that role is a worker.
 */
export function classOf(role: string, agent: string, orchestrator: string | undefined): RoleClass {
  if (role === "operator" || role === "auditor") return role;
  if (role !== "orchestrator") return "worker";
  return orchestrator === undefined || orchestrator === "" || orchestrator === agent ? "orchestrator" : "worker";
}

/** Whether the caller may move a thread from one status to another. */
export function judgeTransition(from: ThreadStatus, to: ThreadStatus, facts: AuthorityFacts): AuthorityVerdict {
  const rule = RULES[`${from} ${to}`];
  if (rule === undefined) return "invalid";
  if (facts.role === "auditor") return "authority";
  return rule[facts.role](facts) ? "allowed" : "authority";
}

/** Whether the caller may set or clear `disputed`; the same rule holds for `needs_human_decision`. */
export function judgeMark(set: boolean, { role }: Pick<AuthorityFacts, "role">): AuthorityVerdict {
  if (role === "operator") return "allowed";
  if (role === "auditor") return "authority";
  return set ? "allowed" : "authority";
}

type Rule = Readonly<Record<Exclude<RoleClass, "auditor">, (facts: AuthorityFacts) => boolean>>;

const yes = () => true;
const no = () => false;
const undisputed = ({ disputed }: AuthorityFacts) => !disputed;

const CLOSING: Rule = { worker: no, orchestrator: undisputed, operator: yes };
const RESOLVING: Rule = { worker: undisputed, orchestrator: undisputed, operator: yes };

const RULES: Readonly<Record<string, Rule>> = {
  "active blocked": { worker: yes, orchestrator: yes, operator: yes },
  "blocked active": { worker: ({ ownBlock }) => ownBlock, orchestrator: yes, operator: yes },
  "active resolved": RESOLVING,
  "blocked resolved": RESOLVING,
  "resolved active": { worker: yes, orchestrator: yes, operator: yes },
  "active closed": CLOSING,
  "blocked closed": CLOSING,
  "resolved closed": CLOSING,
  "closed active": { worker: no, orchestrator: no, operator: yes },
};
