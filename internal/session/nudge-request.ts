import type { SafeText } from "../agents/profile.ts";
import { DomainError } from "../base/errors.ts";
import type { NudgePriority, NudgeRequest } from "./types.ts";

const MESSAGE_MAX_BYTES = 65_536;
const NUDGE_DEFAULT_TIMEOUT_MS = 75_000;
const NUDGE_MAX_TIMEOUT_MS = 600_000;
const TTL_MS: Readonly<Record<NudgePriority, number>> = { normal: 30 * 60_000, urgent: 2 * 3_600_000 };
export const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * A request with its defaults filled in.
 * @throws DomainError `invalid`: message empty, over 65,536 bytes or not Unicode; bad request id; time-out over 10 minutes.
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
  if (request.requestId !== "" && !REQUEST_ID.test(request.requestId)) {
    throw new DomainError("invalid", "a request id is 1 to 128 of A-Z a-z 0-9 . _ -");
  }
  if (request.timeoutMs > NUDGE_MAX_TIMEOUT_MS) {
    throw new DomainError(
      "invalid",
      `a time-out of ${request.timeoutMs} ms is over the limit of ${NUDGE_MAX_TIMEOUT_MS}`,
    );
  }
  return {
    ...request,
    requestId: request.requestId === "" ? newId() : request.requestId,
    timeoutMs: request.timeoutMs <= 0 ? NUDGE_DEFAULT_TIMEOUT_MS : request.timeoutMs,
    ttlMs: request.ttlMs <= 0 ? TTL_MS[request.priority] : request.ttlMs,
  };
}

/** What an agent's profile makes of a message. */
export type Cleaner = (message: string) => SafeText;
