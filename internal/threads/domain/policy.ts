import type { Metadata } from "./types.ts";

/** The settings of a workspace's threads; times in ms. */
export interface Policy {
  /** Agent messages without progress at which the loop guard blocks a thread. */
  readonly turns: number;
  /** Reports of one finding after answers, or equal texts of one sender, at which the loop guard blocks a thread. */
  readonly repeats: number;
  readonly hops: number;
  readonly runaway_per_hour: number;
  /** Per agent. */
  readonly posts_per_minute: number;
  /** Per agent; the limit of a workspace is twelve times as high. */
  readonly wakes_per_minute: number;
  /** A person counts as present for this long after the last key. */
  readonly quiet: number;
  readonly recheck: number;
  readonly max_defer: number;
  readonly resume_max: number;
  readonly stale_after: number;
  /** 0: messages are never erased. */
  readonly retention_days: number;
  readonly escalation_sla: number;
  /** Templates by role: provider, repo_path, agent_opts. */
  readonly spawn: Metadata;
  readonly unmanaged: "refuse" | "resume" | "spawn";
  /** The id of the workspace's orchestrator; empty: none is named. */
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

/** Completes a stored policy with the defaults. */
export function policyOf(stored: Metadata, defaults: Policy = DEFAULT_POLICY): Policy {
  return { ...defaults, ...stored };
}
