import { DomainError } from "../../base/errors.ts";
import type { SendInputRequest, SessionStatus, StartSessionRequest } from "../../gen/bridge/v1/bridge_pb.ts";
import { ID } from "../../session/ids.ts";
import type { InputRequest, SessionStatusName, StartRequest } from "../session-backend.ts";
import { STATUSES } from "./session-message.ts";

const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const MAX_PATH_BYTES = 4096;
const MAX_OPTIONS = 64;
const MAX_OPTION_NAME_BYTES = 128;
/** The longest value that a provider accepts, that of `system_prompt`. */
const MAX_OPTION_BYTES = 16_384;

/** Validates a StartSession request. @throws DomainError `invalid` */
export function startRequestOf(request: StartSessionRequest): StartRequest {
  const { projectId: project, sessionId: id, provider, repoPath, agentOpts } = request;
  if (project === "") throw new DomainError("invalid", "a project_id is required");
  if (!SESSION_ID.test(id)) {
    throw new DomainError(
      "invalid",
      "a session_id is 1 to 128 of A-Z a-z 0-9 . _ - and begins with a letter or a digit",
    );
  }
  if (provider === "") throw new DomainError("invalid", "a provider is required");
  if (repoPath === "") throw new DomainError("invalid", "a repo_path is required");
  if (Buffer.byteLength(repoPath) > MAX_PATH_BYTES)
    throw new DomainError("invalid", `a repo_path has at most ${MAX_PATH_BYTES} bytes`);
  checkOptions(Object.entries(agentOpts));
  return { project, id, provider, repoPath, agentOpts };
}

function checkOptions(options: readonly (readonly [name: string, value: string])[]): void {
  if (options.length > MAX_OPTIONS) throw new DomainError("invalid", `at most ${MAX_OPTIONS} agent_opts are allowed`);
  for (const [name, value] of options) {
    if (Buffer.byteLength(name) > MAX_OPTION_NAME_BYTES || Buffer.byteLength(value) > MAX_OPTION_BYTES)
      throw new DomainError(
        "invalid",
        `a name in agent_opts has at most ${MAX_OPTION_NAME_BYTES} bytes, a value ${MAX_OPTION_BYTES}`,
      );
    if (!name.isWellFormed() || !value.isWellFormed() || value.includes("\0"))
      throw new DomainError("invalid", "agent_opts must be valid Unicode without NUL");
  }
}

/** Validates a SendInput request. @throws DomainError `invalid` */
export function inputRequestOf({ text, idempotencyKey }: SendInputRequest, maxBytes: number): InputRequest {
  checkText(text, maxBytes);
  if (idempotencyKey !== "" && !ID.test(idempotencyKey))
    throw new DomainError("invalid", "an idempotency_key is 1 to 128 of A-Z a-z 0-9 . _ -");
  return { text, idempotencyKey };
}

/** @throws DomainError `invalid` for a text that is empty, too large or not valid Unicode */
export function checkText(text: string, maxBytes: number): void {
  const bytes = Buffer.byteLength(text);
  if (bytes === 0) throw new DomainError("invalid", "cannot send an empty text");
  if (bytes > maxBytes) {
    const fields = { bytes, limit: maxBytes };
    throw new DomainError("invalid", `cannot send a text of ${bytes} bytes: at most ${maxBytes}`, { fields });
  }
  if (!text.isWellFormed()) throw new DomainError("invalid", "cannot send a text that is not valid Unicode");
}

/** @throws DomainError `invalid` for a value that is not a status */
export function statusesOf(values: readonly SessionStatus[]): ReadonlySet<SessionStatusName> {
  return new Set([...new Set(values)].map(statusOf)); // deduplicate first: a request has room for half a million values
}

function statusOf(value: SessionStatus): SessionStatusName {
  const found = Object.entries(STATUSES).find(([, status]) => status === value);
  if (found === undefined) throw new DomainError("invalid", `status has no value ${value}`);
  return found[0] as SessionStatusName;
}
