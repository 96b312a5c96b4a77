import type { SafeText } from "../agents/profile.ts";
import { DomainError } from "../base/errors.ts";
import { ID } from "./ids.ts";
import type { NudgePriority, NudgeRequest } from "./types.ts";

const MESSAGE_MAX_BYTES = 65_536;
const NUDGE_DEFAULT_TIMEOUT_MS = 75_000;
const NUDGE_MAX_TIMEOUT_MS = 600_000;
const TTL_MAX_MS = 24 * 3_600_000;
export const QUIET_DEFAULT_MS = 2000;
const QUIET_MAX_MS = 600_000;
const TTL_MS: Readonly<Record<NudgePriority, number>> = { normal: 30 * 60_000, urgent: 2 * 3_600_000 };

/**
 * A request with its defaults filled in.
 * @throws DomainError `invalid`: message empty, over 65,536 bytes or not Unicode; bad request id; a time below 0, or a
 * time-out or quiet time over 10 minutes, or a time to live over 24 hours.
 */
export function checkedNudge(request: NudgeRequest, newId: () => string): NudgeRequest {
  const bytes = Buffer.byteLength(request.message);
  if (bytes === 0) throw new DomainError("invalid", "cannot send an empty message");
  if (bytes > MESSAGE_MAX_BYTES) {
    const fields = { bytes, limit: MESSAGE_MAX_BYTES };
    throw new DomainError("invalid", `cannot send a message of ${bytes} bytes: at most ${MESSAGE_MAX_BYTES}`, {
      fields,
    });
  }
  if (!request.message.isWellFormed())
    throw new DomainError("invalid", "cannot send a message that is not valid Unicode");
  if (request.requestId !== "" && !ID.test(request.requestId)) {
    throw new DomainError("invalid", "a request id is 1 to 128 of A-Z a-z 0-9 . _ -");
  }
  return {
    ...request,
    requestId: request.requestId === "" ? newId() : request.requestId,
    timeoutMs: within("timeout_ms", request.timeoutMs, NUDGE_MAX_TIMEOUT_MS) || NUDGE_DEFAULT_TIMEOUT_MS,
    ttlMs: within("ttl_ms", request.ttlMs, TTL_MAX_MS) || TTL_MS[request.priority],
    quietMs: within("quiet_ms", request.quietMs ?? 0, QUIET_MAX_MS) || QUIET_DEFAULT_MS,
  };
}

function within(name: string, ms: number, most: number): number {
  if (ms >= 0 && ms <= most) return ms;
  throw new DomainError("invalid", `${name} is 0 to ${most}, not ${ms}`, { fields: { limit: most } });
}

/** Makes a message safe to type, by the rules of an agent's profile. */
export type Cleaner = (message: string) => SafeText;
