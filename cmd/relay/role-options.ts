import type { Dialect } from "../../internal/relay/acp/dialect.ts";
import type { ExactJson } from "../../internal/relay/acp/json-text.ts";
import type { SamplingSettings } from "../../internal/relay/acp/sampling-request.ts";
import type { LaneOptions } from "../../internal/relay/lanes/lane-deps.ts";
import type { RelaySettings } from "./settings.ts";

type RoleSettings = RelaySettings["roles"][string];

/** The configuration of a role; undefined: it has none. */
export function roleSettingsOf({ roles }: RelaySettings, role: string): RoleSettings | undefined {
  return Object.hasOwn(roles, role) ? roles[role] : undefined;
}

export function laneOptionsOf(settings: RelaySettings): LaneOptions {
  const { turns, maxMessageBytes } = settings;
  const { max_attempts: maxAttempts, backoff: backoffMs, work_ttl: workTtlMs } = turns;
  const limitsOf = (role: string) => {
    const said = roleSettingsOf(settings, role)?.on_uncertain;
    const resends = (dialect: Dialect) =>
      said === undefined ? dialect === "seed" || dialect === "mcp" : said === "resend";
    const resumes = (dialect: Dialect) => dialect === "bridge" && roleSettingsOf(settings, role)?.link === "bridge";
    return { maxAttempts, backoffMs, workTtlMs, resends, resumes };
  };
  const { ack_wait: ackWaitMs, holder_timeout: holderMs, deadline: deadlineMs, idle: idleMs } = turns;
  const { cancel_grace: cancelGraceMs } = turns;
  return { limitsOf, ackWaitMs, holderMs, deadlineMs, idleMs, cancelGraceMs, workTtlMs, maxMessageBytes };
}

export function samplingOf(role: RelaySettings["roles"][string] | undefined): Partial<SamplingSettings> {
  if (role === undefined) return {};
  const { model, max_tokens: maxTokens, system, tools } = role;
  // An undefined setting would replace the default one.
  return {
    ...(model !== undefined && { model }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(system !== undefined && { system }),
    ...(tools !== undefined && { tools: tools as unknown as readonly ExactJson[] }),
  };
}
