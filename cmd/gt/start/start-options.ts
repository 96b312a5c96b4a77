import { resolve } from "node:path";
import { knownWord } from "../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import { gtArguments, gtUsageError } from "../common/command/arguments.ts";
import type { StartFlags } from "./start-flags.ts";

const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
/** An id that `bd` cannot take for a flag. */
const BEAD_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

const DEFAULT_WAIT_MS = 600_000;
const MAX_WAIT_MS = 24 * 3_600_000;

/** The session to start. */
export interface StartOptions {
  readonly provider: string;
  /** Absolute. */
  readonly path: string;
  /** Undefined: a new one is generated. */
  readonly sessionId: string | undefined;
  readonly agentOpts: Readonly<Record<string, string>>;
  /** Undefined: no bead is written. */
  readonly bead: string | undefined;
  /** The time to wait until the agent takes messages; undefined: do not wait. */
  readonly waitMs: number | undefined;
  readonly quiet: boolean;
  readonly json: boolean;
}

/**
 * @param cwd the folder that a relative path starts from @throws DomainError `invalid`
 */
export function readStart({ values, positionals, rest }: Given<StartFlags>, cwd: string): StartOptions {
  const [provider = "", path = "."] = gtArguments("start", [...positionals, ...(rest ?? [])], ["provider"], ["path"]);
  const { session: sessionId, mode, opt = [], bead, timeout, quiet = false, json = false } = values;
  const isWaiting = values["no-wait"] !== true;
  if (provider === "") throw gtUsageError("start", "which provider?");
  if (sessionId !== undefined && !SESSION_ID.test(sessionId))
    throw gtUsageError(
      "start",
      "--session takes 1 to 128 letters, digits, dots, dashes or underscores, a letter or digit first",
    );
  if (bead !== undefined && !BEAD_ID.test(bead)) throw gtUsageError("start", "--bead takes the id of a bead");
  if (!isWaiting && timeout !== undefined) throw gtUsageError("start", "give --timeout or --no-wait, not both");
  const { timeout: waitMs = DEFAULT_WAIT_MS } = values;
  if (waitMs < 1 || waitMs > MAX_WAIT_MS) throw gtUsageError("start", "--timeout is between 1ms and 24h");
  if (quiet && json) throw gtUsageError("start", "give --quiet or --json, not both");
  const agentOpts = Object.fromEntries(opt.map(readOption));
  if (mode !== undefined) agentOpts["mode"] = knownWord("--mode", mode, ["stdio", "terminal"]);
  return {
    provider,
    path: resolve(cwd, path),
    sessionId,
    agentOpts,
    bead,
    waitMs: isWaiting ? waitMs : undefined,
    quiet,
    json,
  };
}

function readOption(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw gtUsageError("start", `--opt takes KEY=VALUE, not ${JSON.stringify(text)}`);
}
