import { DomainError } from "../../internal/base/errors.ts";
import { knownWord } from "../../internal/cli/command/arguments.ts";
import type { CommandFlag, CommandFlags, Given } from "../../internal/cli/command/command.ts";
import { THREAD_NAME } from "../../internal/desk/tools/text-bounds.ts";
import { AGENTS } from "./desk-file.ts";

/** Flags of every command that works on a desk. */
export const DESK_FLAGS = {
  config: {
    type: "string",
    value: "FILE",
    env: "DESK_CONFIG",
    complete: "file",
    help: "the configuration (desk.yaml here or, if there is none, the folders admin and docs)",
  },
  "state-dir": {
    type: "string",
    value: "DIR",
    env: "DESK_STATE_DIR",
    complete: "folder",
    help: "where journals, keys and the socket are (.desk beside the configuration)",
  },
} as const satisfies CommandFlags;

const ISOLATIONS = ["auto", "sandbox", "none"] as const;

/** Selects the mechanism that confines the customer's side. */
export const ISOLATION_FLAG = {
  type: "string",
  value: "HOW",
  complete: ISOLATIONS,
  help: "how the customer's side is confined: auto, sandbox, none (as configured, else auto)",
} as const satisfies CommandFlag;

/** Flags of the two modes. */
export const MODE_FLAGS = {
  mode: { type: "string", value: "MODE", help: "admin or user", complete: ["admin", "user"] },
  ...DESK_FLAGS,
  thread: { type: "string", value: "NAME", help: "the conversation of this side (main)" },
  to: { type: "string", value: "NAME", help: "mode admin: the customer's conversation that routed texts go to (main)" },
  agent: {
    type: "string",
    value: "AGENT",
    complete: AGENTS,
    help: "the agent of this side: reader, claude, codex, opencode (as configured, else reader)",
  },
  isolation: ISOLATION_FLAG,
  once: { type: "boolean", help: "take all of stdin as one input, and exit with its outcome" },
  jsonl: { type: "boolean", help: 'take JSON lines {"text", "thread", "to"}, print events as JSON lines' },
  json: { type: "boolean", help: "print events as JSON lines" },
} as const satisfies CommandFlags;

/** The command line of a mode. */
export interface ModeOptions {
  readonly mode: "admin" | "user";
  readonly config?: string | undefined;
  readonly stateDir?: string | undefined;
  readonly thread: string;
  readonly to: string;
  readonly agent?: (typeof AGENTS)[number] | undefined;
  readonly isolation?: (typeof ISOLATIONS)[number] | undefined;
  readonly input: "lines" | "once" | "jsonl";
  readonly json: boolean;
}

/** @throws DomainError `invalid` for a call without a mode, or with flags that are mutually exclusive */
export function modeOptions({ values, positionals, rest }: Given<typeof MODE_FLAGS>): ModeOptions {
  const { thread = "main", to = "main", once = false, jsonl = false, json = false } = values;
  const extra = [...positionals, ...(rest ?? [])];
  if (extra.length > 0)
    throw usage(`unexpected argument ${JSON.stringify(extra[0])}`, "an input comes from stdin only; see desk --help");
  if (values.mode === undefined) throw usage("which mode?", "desk --mode admin, or desk --mode user; see desk --help");
  const mode = knownWord("--mode", values.mode, ["admin", "user"], "see desk --help");
  if (once && jsonl) throw usage("--once and --jsonl are mutually exclusive");
  if (mode === "user" && values.to !== undefined) throw usage("--to is a flag of mode admin");
  for (const [flag, name] of Object.entries({ thread, to })) {
    if (!THREAD_NAME.test(name)) throw usage(`--${flag} is a name of A-Z, a-z, 0-9, ".", "_" and "-", at most 64 long`);
  }
  return {
    ...{ mode, thread, to, json: json || jsonl },
    ...placeOptions(values),
    agent: values.agent === undefined ? undefined : knownWord("--agent", values.agent, AGENTS),
    isolation: isolationOf(values.isolation),
    input: once ? "once" : jsonl ? "jsonl" : "lines",
  };
}

/** The paths among the flags. */
export function placeOptions({ config, "state-dir": stateDir }: Given<typeof DESK_FLAGS>["values"]) {
  return { config, stateDir };
}

/** @throws DomainError `invalid` */
export function isolationOf(value: string | undefined) {
  return value === undefined ? undefined : knownWord("--isolation", value, ISOLATIONS);
}

function usage(message: string, hint = "see desk --help"): DomainError {
  return new DomainError("invalid", message, { fields: { hint } });
}
