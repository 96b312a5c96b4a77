import type { Metadata } from "./types.ts";

/** How a workspace wants its threads run; times in ms. */
export interface Policy {
  /** Agent messages without progress. */
  readonly turns: number;
  /** Cycles of the same finding, and of the same text. */
  readonly repeats: number;
  readonly hops: number;
  readonly runaway_per_hour: number;
  /** Per agent. */
  readonly posts_per_minute: number;
  /** Per agent; a workspace has twelve times that. */
  readonly wakes_per_minute: number;
  /** A person counts as present for this long after the last key. */
  readonly quiet: number;
  readonly recheck: number;
  readonly max_defer: number;
  readonly resume_max: number;
  readonly stale_after: number;
  /** 0: for ever. */
  readonly retention_days: number;
  readonly escalation_sla: number;
  /** Templates by role: provider, repo_path, agent_opts. */
  readonly spawn: Metadata;
  readonly unmanaged: "refuse" | "resume" | "spawn";
  /** The agent that is the orchestrator; empty: none is named. */
  readonly orchestrator: string;
}

export const DEFAULT_POLICY: Policy = {
  turns: 20,
  repeats: 3,
  hops: 20,
  runaway_per_hour: 200,
  posts_per_minute: 60,
  wakes_per_minute: 10,
  quiet: 20_000,
  recheck: 5000,
  max_defer: 60_000,
  resume_max: 2,
  stale_after: 12 * 3_600_000,
  retention_days: 0,
  escalation_sla: 15 * 60_000,
  spawn: {},
  unmanaged: "refuse",
  orchestrator: "",
};

/** A stored policy over the defaults. */
export function policyOf(stored: Metadata, defaults: Policy = DEFAULT_POLICY): Policy {
  return { ...defaults, ...stored };
}
