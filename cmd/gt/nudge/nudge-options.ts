import { isUtf8 } from "node:buffer";
import { DomainError } from "../../../internal/base/errors.ts";
import { knownWord } from "../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { NudgeMode, NudgePriority } from "../../../internal/session/types.ts";
import { type PlaceConfig, readPlace } from "../../../internal/terminal/places/place-config.ts";
import { senderOf } from "../../../internal/terminal/trust/sender.ts";
import { takeAgent } from "../common/command/agent-arguments.ts";
import { gtUsageError, readRequestId } from "../common/command/arguments.ts";
import type { NudgeFlags } from "./nudge-flags.ts";

export const MAX_MESSAGE_BYTES = 65_536;
const MAX_TIMEOUT_MS = 600_000;
const DEFAULT_TIMEOUT_MS = 75_000;
/** The address of an agent in a rig. */
const ADDRESS = /^[^\s/]+(?:\/[^\s/]+)+$/;

export interface NudgeOptions {
  readonly place: PlaceConfig;
  readonly agent: string;
  /** Absent: read stdin. */
  readonly message?: string | undefined;
  readonly force: boolean;
  readonly ifFresh: boolean;
  readonly mode: NudgeMode;
  readonly priority: NudgePriority;
  readonly json: boolean;
  readonly timeoutMs: number;
  readonly requestId: string;
  readonly sender: string;
}

/** @throws DomainError `invalid` */
export function readNudge(
  { values, positionals, rest }: Given<NudgeFlags>,
  env: Readonly<Record<string, string | undefined>>,
): NudgeOptions {
  const place = readPlace(values, env);
  const { stdin = false, timeout = DEFAULT_TIMEOUT_MS } = values;
  const given = [...positionals, ...(rest ?? [])];
  // A single argument is the message, unless the message comes from elsewhere, or the argument is an address whose
  // message was forgotten.
  const isNameless = ([first = "", ...others]: readonly string[]) =>
    first === "" || (others.length === 0 && !stdin && values.message === undefined && !ADDRESS.test(first));
  const [agent, text] = takeAgent("nudge", given, place, { may: ["message"], isNameless });
  if (stdin && values.message !== undefined) throw gtUsageError("nudge", "give --message or --stdin, not both");
  if (stdin && text !== undefined) throw gtUsageError("nudge", "give a message argument or --stdin, not both");
  const message = values.message ?? text;
  if (!stdin && message === undefined)
    throw gtUsageError("nudge", "no message", "give it as an argument, with -m, or pipe it with --stdin");
  if (timeout < 1 || timeout > MAX_TIMEOUT_MS) throw gtUsageError("nudge", "--timeout is between 1ms and 10m");
  return {
    place,
    agent,
    message,
    force: values.force ?? false,
    ifFresh: values["if-fresh"] ?? false,
    mode: knownWord("--mode", values.mode, ["wait-idle", "immediate", "queue"] as const),
    priority: knownWord("--priority", values.priority, ["normal", "urgent"] as const),
    json: values.json ?? false,
    timeoutMs: timeout,
    requestId: readRequestId("nudge", values["request-id"]),
    sender: senderOf(env),
  };
}

/** @throws DomainError `invalid` for a message that is empty or too long */
export function checkSize(message: string): void {
  const bytes = Buffer.byteLength(message);
  if (bytes === 0) throw new DomainError("invalid", "the message is empty");
  if (bytes > MAX_MESSAGE_BYTES) {
    throw new DomainError("invalid", `the message has ${bytes} bytes: at most ${MAX_MESSAGE_BYTES} are allowed`);
  }
}

/**
 * A piped message without the line feeds at its end. A message that is too long may end within a character.
 * @throws DomainError `invalid` for bytes that are not UTF-8: no replacement is typed in their place
 */
export function messageIn(bytes: Buffer): string {
  if (bytes.length <= MAX_MESSAGE_BYTES && !isUtf8(bytes)) throw new DomainError("invalid", "the message is not UTF-8");
  return bytes.toString("utf8").replace(/[\r\n]+$/, "");
}
