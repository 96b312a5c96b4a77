import { hostname, userInfo } from "node:os";
import { DomainError } from "../../internal/base/errors.ts";
import { type FlagValues, parseFlags } from "../../internal/cli/flags.ts";
import { nearestName } from "../../internal/cli/nearest-name.ts";
import type { NudgeMode, NudgePriority } from "../../internal/session/types.ts";
import { DEFAULT_DETACH_KEYS, type DetachKeys, parseDetachKeys } from "./attach/detach-keys.ts";
import { COMMAND_FLAGS, COMMANDS, type CommandName, type PLACE_FLAGS } from "./flags.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** What was said about where agents are and how to reach them. */
export interface PlaceConfig {
  readonly host?: string;
  readonly port?: number;
  readonly server?: string;
  /** A tmux socket: name or path. */
  readonly socket?: string;
  /** The socket was given by flag: only that tmux server is looked at. */
  readonly localOnly: boolean;
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string; readonly dir?: string };
  /** Which agent program runs in a local session. */
  readonly profile?: string;
  readonly townRoot?: string;
  readonly townSocket?: string;
  readonly tmux?: string;
  readonly tmuxPane?: string;
  readonly tmuxTmpdir?: string;
  readonly xdgRuntimeDir?: string;
  readonly uid: number;
  readonly cwd: string;
  /** For programs that are run: `bd` and `tmux`. */
  readonly env: Env;
}

export type Command =
  | { readonly type: "help"; readonly topic?: CommandName }
  | { readonly type: "version" }
  | { readonly type: "completion"; readonly shell: string }
  | { readonly type: "agents"; readonly place: PlaceConfig; readonly json: boolean; readonly quiet: boolean }
  | { readonly type: "status"; readonly place: PlaceConfig; readonly agent?: string; readonly json: boolean }
  | PeekCommand
  | NudgeCommand
  | RespondCommand
  | WatchCommand
  | AttachCommand;

export interface PeekCommand {
  readonly type: "peek";
  readonly place: PlaceConfig;
  readonly agent: string;
  readonly lines: number;
  readonly all: boolean;
  readonly ansi: boolean;
  readonly join: boolean;
  readonly json: boolean;
  readonly follow: boolean;
}

export interface NudgeCommand {
  readonly type: "nudge";
  readonly place: PlaceConfig;
  readonly agent: string;
  /** Absent: read stdin. */
  readonly message?: string;
  readonly force: boolean;
  readonly ifFresh: boolean;
  readonly mode: NudgeMode;
  readonly priority: NudgePriority;
  readonly json: boolean;
  readonly timeoutMs: number;
  readonly requestId: string;
  readonly sender: string;
}

export interface RespondCommand {
  readonly type: "respond";
  readonly place: PlaceConfig;
  readonly agent: string;
  /** Key of a choice or a beginning of its label; absent with `text`: the choice that asks for one. */
  readonly choice?: string;
  readonly text?: string;
  /** Absent: the dialog that is open. */
  readonly dialogId?: string;
  readonly requestId: string;
  readonly json: boolean;
}

export interface WatchCommand {
  readonly type: "watch";
  readonly place: PlaceConfig;
  readonly agent: string;
  /** Absent: what fits the terminal. */
  readonly lines?: number;
  readonly ansi: boolean;
  readonly intervalMs: number;
  readonly json: boolean;
}

export interface AttachCommand {
  readonly type: "attach";
  readonly place: PlaceConfig;
  readonly agent: string;
  readonly readOnly: boolean;
  readonly detachKeys: DetachKeys;
  /** Who the caller claims to be. */
  readonly name: string;
}

const MAX_LINES = 100_000;
const MAX_TIMEOUT_MS = 600_000;
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Everything that argv and the environment say, checked. @throws DomainError `invalid`. */
export function readConfig(argv: readonly string[], env: Env): Command {
  const [first, ...rest] = argv;
  if (first === undefined || first === "-h" || first === "--help") return { type: "help" };
  if (first === "--version") return { type: "version" };
  if (!isCommand(first)) throw unknownCommand(first);
  const asked = parseFlags(COMMAND_FLAGS[first], rest, env);
  if (asked.ask === "help") return { type: "help", topic: first };
  if (asked.ask === "version") return { type: "version" };
  switch (first) {
    case "help":
      return readHelp(asked.positionals);
    case "completion":
      return { type: "completion", shell: exactly(first, asked.positionals, ["shell"])[0] ?? "" };
    case "peek":
      return readPeek(rest, env);
    case "nudge":
      return readNudge(rest, env);
    case "respond":
      return readRespond(rest, env);
    case "watch":
      return readWatch(rest, env);
    case "attach":
      return readAttach(rest, env);
    case "status": {
      const { values, positionals } = parseFlags(COMMAND_FLAGS.status, rest, env);
      const [agent] = exactly("status", positionals, [], ["agent"]);
      return { type: "status", place: readPlace(values, env), json: values.json ?? false, ...(agent && { agent }) };
    }
    case "agents": {
      const { values, positionals } = parseFlags(COMMAND_FLAGS.agents, rest, env);
      exactly("agents", positionals, []);
      return {
        type: "agents",
        place: readPlace(values, env),
        json: values.json ?? false,
        quiet: values.quiet ?? false,
      };
    }
  }
}

function readHelp(positionals: readonly string[]): Command {
  const [topic] = exactly("help", positionals, [], ["command"]);
  if (topic === undefined) return { type: "help" };
  if (!isCommand(topic)) throw unknownCommand(topic);
  return { type: "help", topic };
}

function readPeek(argv: readonly string[], env: Env): PeekCommand {
  const { values, positionals, rest } = parseFlags(COMMAND_FLAGS.peek, argv, env);
  const [agent = "", count] = exactly("peek", [...positionals, ...(rest ?? [])], ["agent"], ["count"]);
  const { all = false, ansi = false, join = false, json = false, follow = false } = values;
  if (all && count !== undefined) throw usage("peek", "give a number of lines or --all, not both");
  if (follow && json) throw usage("peek", "--follow prints lines; gt watch --json streams JSON");
  const lines = readLines(count === undefined ? (values.lines ?? 100) : count);
  return { type: "peek", place: readPlace(values, env), agent, lines, all, ansi, join, json, follow };
}

function readNudge(argv: readonly string[], env: Env): NudgeCommand {
  const { values, positionals, rest } = parseFlags(COMMAND_FLAGS.nudge, argv, env);
  const [agent = "", text] = exactly("nudge", [...positionals, ...(rest ?? [])], ["agent"], ["message"]);
  const { stdin = false, "request-id": requestId = "", timeout = 75_000 } = values;
  if (stdin && values.message !== undefined) throw usage("nudge", "give --message or --stdin, not both");
  const message = stdin ? undefined : (values.message ?? text);
  if (!stdin && message === undefined)
    throw usage("nudge", "no message", "write it behind the agent, with -m, or pipe it with --stdin");
  if (timeout < 1 || timeout > MAX_TIMEOUT_MS) throw usage("nudge", "--timeout is between 1ms and 10m");
  if (requestId !== "" && !REQUEST_ID.test(requestId))
    throw usage("nudge", "--request-id has 1 to 128 letters, digits, dots, dashes or underscores");
  return {
    type: "nudge",
    place: readPlace(values, env),
    agent,
    ...(message !== undefined && { message }),
    force: values.force ?? false,
    ifFresh: values["if-fresh"] ?? false,
    mode: oneOf("--mode", values.mode, ["wait-idle", "immediate", "queue"] as const),
    priority: oneOf("--priority", values.priority, ["normal", "urgent"] as const),
    json: values.json ?? false,
    timeoutMs: timeout,
    requestId,
    sender: senderOf(env),
  };
}

function readRespond(argv: readonly string[], env: Env): RespondCommand {
  const { values, positionals, rest } = parseFlags(COMMAND_FLAGS.respond, argv, env);
  const [agent = "", choice] = exactly("respond", [...positionals, ...(rest ?? [])], ["agent"], ["choice"]);
  const { text, "dialog-id": dialogId, "request-id": requestId = "", json = false } = values;
  if (requestId !== "" && !REQUEST_ID.test(requestId))
    throw usage("respond", "--request-id has 1 to 128 letters, digits, dots, dashes or underscores");
  return {
    type: "respond",
    place: readPlace(values, env),
    agent,
    ...present({ choice: choice || undefined, text: text || undefined, dialogId: dialogId || undefined }),
    requestId,
    json,
  };
}

function readWatch(argv: readonly string[], env: Env): WatchCommand {
  const { values, positionals } = parseFlags(COMMAND_FLAGS.watch, argv, env);
  const [agent = ""] = exactly("watch", positionals, ["agent"]);
  const { ansi = false, interval = 100, json = false } = values;
  if (interval < 10 || interval > 60_000) throw usage("watch", "--interval is between 10ms and 1m");
  const lines = values.lines === undefined ? {} : { lines: readLines(values.lines) };
  return { type: "watch", place: readPlace(values, env), agent, ansi, intervalMs: interval, json, ...lines };
}

function readAttach(argv: readonly string[], env: Env): AttachCommand {
  const { values, positionals } = parseFlags(COMMAND_FLAGS.attach, argv, env);
  const [agent = ""] = exactly("attach", positionals, ["agent"]);
  const readOnly = values["read-only"] ?? false;
  const detachKeys = parseDetachKeys(values["detach-keys"] ?? DEFAULT_DETACH_KEYS);
  return { type: "attach", place: readPlace(values, env), agent, readOnly, detachKeys, name: senderOf(env) };
}

/** A flag that names a place outdoes every variable that names another. */
function readPlace(flags: FlagValues<typeof PLACE_FLAGS>, env: Env): PlaceConfig {
  const flagged = flags.host ?? flags.port ?? flags.socket ?? flags.server;
  if (flags.socket !== undefined && (flags.host ?? flags.port ?? flags.server) !== undefined) {
    throw new DomainError(
      "invalid",
      "--socket is for local tmux, --host, --port and --server are for elsewhere: give one of them",
    );
  }
  const variable = (name: string) => (flagged !== undefined || !env[name] ? undefined : env[name]);
  const host = flags.host ?? variable("GT_SIDECAR_HOST");
  const port = flags.port ?? numberOf("GT_SIDECAR_PORT", variable("GT_SIDECAR_PORT"));
  if (port !== undefined && (port < 1 || port > 65_535)) throw new DomainError("invalid", `not a port: ${port}`);
  const { ca, cert, key } = flags;
  return {
    ...present({
      host,
      port,
      server: flags.server ?? variable("GT_SERVER"),
      socket: flags.socket ?? (env["GT_TMUX_SOCKET"] || undefined),
    }),
    localOnly: flags.socket !== undefined,
    tls: present({ ca, cert, key, dir: flags["tls-dir"] }),
    ...present({
      profile: flags["agent-profile"],
      townRoot: env["GT_TOWN_ROOT"] || undefined,
      townSocket: env["GT_TOWN_SOCKET"] || undefined,
      tmux: env["TMUX"] || undefined,
      tmuxPane: env["TMUX_PANE"] || undefined,
      tmuxTmpdir: env["TMUX_TMPDIR"] || undefined,
      xdgRuntimeDir: env["XDG_RUNTIME_DIR"] || undefined,
    }),
    uid: process.getuid?.() ?? 0,
    cwd: process.cwd(),
    env,
  };
}

/** Who the caller claims to be: the role that upstream gives its agents, else user and machine. */
function senderOf(env: Env): string {
  if (env["GT_ROLE"]) return env["GT_ROLE"];
  return `${env["USER"] || env["LOGNAME"] || userName()}@${hostname()}`;
}

/** Without an entry in the user database there is no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 0}`;
  }
}

function readLines(value: string | number): number {
  const lines = typeof value === "number" ? value : /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (!(lines >= 1 && lines <= MAX_LINES)) {
    throw new DomainError("invalid", `not a number of lines: ${JSON.stringify(value)} (1 to ${MAX_LINES})`);
  }
  return lines;
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,5}$/.test(text)) throw new DomainError("invalid", `${name} needs a port, not ${JSON.stringify(text)}`);
  return Number(text);
}

function oneOf<T extends string>(flag: string, value: string | undefined, known: readonly [T, ...T[]]): T {
  if (value === undefined) return known[0];
  const found = known.find((one) => one === value);
  if (found === undefined)
    throw new DomainError("invalid", `${flag} is ${known.join(", ")}; not ${JSON.stringify(value)}`);
  return found;
}

/** The positionals, as many as there must and may be. */
function exactly(
  command: CommandName,
  given: readonly string[],
  must: readonly string[],
  may: readonly string[] = [],
): readonly string[] {
  const missing = must[given.length];
  if (missing !== undefined) throw usage(command, `which ${missing}?`);
  const extra = given[must.length + may.length];
  if (extra !== undefined) throw usage(command, `too many arguments: ${JSON.stringify(extra)}`);
  return given;
}

function usage(command: CommandName, message: string, hint = `gt ${command} --help shows how`): DomainError {
  return new DomainError("invalid", message, { fields: { hint } });
}

function isCommand(text: string): text is CommandName {
  return COMMANDS.some((one) => one === text);
}

function unknownCommand(text: string): DomainError {
  const nearest = nearestName(text, COMMANDS);
  const hint = nearest === undefined ? "gt help lists the commands" : `did you mean gt ${nearest}?`;
  return new DomainError("invalid", `unknown command ${JSON.stringify(text)}`, { fields: { hint } });
}

function present<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
