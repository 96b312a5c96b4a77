import { DomainError } from "../../base/errors.ts";
import { commandName, plainCommandName } from "../pane/command-line.ts";
import type { Reply } from "../pane/commands.ts";
import { TmuxCommandError } from "../pane/errors.ts";
import type { ControlBlock } from "./control-parser.ts";
import type { Request } from "./reply-queue.ts";

/**
 * The limits of the answer to a script: no script of ours has this many commands (4096 bytes of raw keys need the
 * most), and the replies are short.
 */
const MAX_REPLIES = 8192;
const MAX_REPLY_BYTES = 32 << 20;

export interface SentRequest<T> {
  readonly request: Request;
  readonly answer: Promise<T>;
}

/** A request for a single plain command, which exactly one block answers. */
export function commandRequest(line: string): SentRequest<readonly string[]> {
  const name = plainCommandName(line);
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
  const accept = (block: ControlBlock) => {
    if (block.truncated) reject(tooLong(name));
    else if (block.ok) resolve(block.body);
    else reject(new TmuxCommandError(name, block.body));
    return "done" as const;
  };
  return { request: { text: `${line}\n`, accept, fail: reject }, answer: promise };
}

/**
 * A request for a list or a conditional. tmux reports neither how many blocks will come nor which is the last, so a
 * second line prints `nonce`; as a separate line it runs even after an error.
 */
export function scriptRequest(line: string, nonce: string): SentRequest<readonly Reply[]> {
  const name = commandName(line);
  const { promise, resolve, reject } = Promise.withResolvers<readonly Reply[]>();
  const replies: Reply[] = [];
  let truncated = false;
  let bytes = 0;
  const accept = (block: ControlBlock) => {
    if (block.ok && block.bytes.length === nonce.length + 1 && block.body[0] === nonce) {
      if (truncated) reject(tooLong(name));
      else resolve(replies);
      return "done";
    }
    truncated ||= block.truncated;
    bytes += block.bytes.length;
    if (replies.length >= MAX_REPLIES || bytes > MAX_REPLY_BYTES) return "foreign";
    replies.push({ ok: block.ok, lines: block.body });
    return "more";
  };
  return { request: { text: `${line}\ndisplay-message -p ${nonce}\n`, accept, fail: reject }, answer: promise };
}

function tooLong(name: string): DomainError {
  return new DomainError("exhausted", `the reply to ${name} is too long`, { fields: { command: name } });
}
