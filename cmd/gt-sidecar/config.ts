import { randomUUID } from "node:crypto";
import { accessSync, constants, mkdtempSync, statSync } from "node:fs";
import { homedir, hostname } from "node:os";
import { join, resolve } from "node:path";
import type { AgentProfile } from "../../internal/agents/profile.ts";
import { profileNamed } from "../../internal/agents/programs/registry.ts";
import { parseRoleRule, type RoleRule } from "../../internal/auth/roles.ts";
import { checkTlsFolder } from "../../internal/auth/tls/check-tls-folder.ts";
import { checkSession, sessionsOf } from "../../internal/auth/tls/identities.ts";
import { DomainError, errorText } from "../../internal/base/errors.ts";
import type { LogLevel } from "../../internal/base/logger.ts";
import { DEFAULT_REDACT_PATTERNS, Redactor } from "../../internal/base/redact.ts";
import { knownWord } from "../../internal/cli/command/arguments.ts";
import { logLevelOf } from "../../internal/cli/command/log-level.ts";
import { parseFlags } from "../../internal/cli/flags.ts";
import { makeFolders } from "../../internal/files/make-folders.ts";
import { ownRuntimeDir } from "../../internal/files/private-folder.ts";
import { parentOfSockets } from "../../internal/files/temporary-folder.ts";
import type { CrlPolicy } from "../../internal/pki/trust.ts";
import type { RestartMode } from "../../internal/process/restart-policy.ts";
import type { ListenAddress } from "../../internal/rpc/port/listen.ts";
import { ID } from "../../internal/session/ids.ts";
import type { SidecarOptions } from "../../internal/sidecar/halves/options.ts";
import { ownDemoAgent } from "./demo-program.ts";
import { findAgentProgram } from "./find-program.ts";
import { SIDECAR_FLAGS } from "./flags.ts";
import { checkListen, formatListen, parseListen, withFixedPort } from "./listen.ts";
import { readLocalUsers, reportsUsers } from "./local-users.ts";
import { checkSocketFolder } from "./socket-folder.ts";
import { readThreadsFlags } from "./threads-flags.ts";
import { readTokenFlags, type TokenFlags } from "./token-flags.ts";
import { readAuditFlag, readCrlPolicyFlag, type TrustFlagContext } from "./trust-flags.ts";

export interface SidecarConfig {
  readonly half: "both" | "supervise" | "serve";
  readonly sidecar: SidecarOptions;
  readonly listen: ListenAddress;
  readonly healthListen: ListenAddress;
  readonly tlsDir?: string | undefined;
  /** Undefined: not set. */
  readonly roleRules?: readonly RoleRule[] | undefined;
  /** The tokens that give roles; undefined: none. */
  readonly tokens?: TokenFlags | undefined;
  readonly crlPolicy: CrlPolicy;
  /** Undefined: stderr if tokens give roles, else no log. */
  readonly auditLog?: string | undefined;
  readonly allowHosts: readonly string[];
  /** The local users that a plaintext port on loopback serves in addition to our own and root; undefined: any. */
  readonly localUsers?: readonly number[] | undefined;
  readonly graceMs: number;
  readonly logLevel: LogLevel;
  readonly runtimeDir: string | undefined;
  /** The state folder was created for this run only: its contents are not needed afterwards. */
  readonly ownStateDir: boolean;
  /** The flags as they were given, for the serving half. */
  readonly ownFlags: readonly string[];
}

type Env = Readonly<Record<string, string | undefined>>;
type Values = ReturnType<typeof parseFlags<typeof SIDECAR_FLAGS>>["values"];

/** Stands for a state folder for this run only. */
const OWN = "";
const RESTARTS = ["always", "on-failure", "never"] as const satisfies readonly RestartMode[];

/**
 * The configuration from flags and environment; `argv` may begin with the name of a half.
 * @throws DomainError `invalid`, naming the flag; `not-found` if the agent's program is missing; `unavailable` if no
 * state folder can be made
 */
export function readConfig(argv: readonly string[], env: Env): SidecarConfig {
  const half = argv[0] === "supervise" || argv[0] === "serve" ? argv[0] : "both";
  const flags = parseFlags(SIDECAR_FLAGS, half === "both" ? argv : argv.slice(1), env);
  const [stray] = flags.positionals;
  if (stray !== undefined) {
    const hint = "the agent's command goes after --, e.g. gt-sidecar --agent generic -- bash";
    throw new DomainError("invalid", `unexpected argument ${JSON.stringify(stray)}`, { fields: { hint } });
  }
  const { values } = flags;
  const tlsDir = values["tls-dir"] === undefined ? undefined : resolve(values["tls-dir"]);
  const place: TrustFlagContext = { tlsDir, half };
  const crlPolicy = readCrlPolicyFlag(values["crl-policy"], place);
  const own = argv.slice(half === "both" ? 0 : 1, argv.includes("--") ? argv.indexOf("--") : undefined);
  const threads = readThreadsFlags(values, own);
  const asked = {
    ...readSidecar(values, flags.rest, env, half, sessionFor(values["session-id"], place, crlPolicy)),
    threads,
  };
  const sidecar = isSocketUsual(values) ? withStateDir(asked) : asked;
  const listen = isSocketUsual(values)
    ? socketIn(sidecar.stateDir)
    : parseListen(values.listen ?? "127.0.0.1:9090", "--listen", { unix: true });
  if (half !== "supervise")
    checkListen(listen, { tls: tlsDir !== undefined, insecure: values["insecure-plaintext"] ?? false });
  const localUsers =
    half === "supervise"
      ? undefined
      : readLocalUsers(values["allow-local-user"], listen, { tls: tlsDir !== undefined });
  const tokens = readTokenFlags(values["jwt-key"], values["jwt-audience"], place);
  const auditLog = readAuditFlag(values["audit-log"], place);
  const healthListen = readHealthListen(values["health-listen"] ?? "127.0.0.1:9091");
  const roleRules = values["allow-client"]?.map(parseRoleRule);
  const logLevel = logLevelOf(values["log-level"]) ?? "info";
  return {
    half,
    sidecar: withStateDir(withFoundProgram(sidecar, half)),
    listen,
    healthListen,
    tlsDir,
    roleRules,
    tokens,
    crlPolicy,
    auditLog,
    allowHosts: values["allow-host"] ?? [],
    localUsers,
    graceMs: values.grace ?? 10_000,
    logLevel,
    runtimeDir: runtimeDirOf(env),
    ownStateDir: values["state-dir"] === undefined && runtimeDirOf(env) === undefined,
    ownFlags: own,
  };
}

/**
 * The arguments that give a serving half the same configuration, including the ports, state folder, session id and
 * command that this process has chosen.
 */
export async function serveArgs({
  sidecar,
  listen,
  healthListen,
  ownFlags,
}: SidecarConfig): Promise<readonly string[]> {
  const served = await withFixedPort(listen);
  const filledIn = {
    "--listen": formatListen(served),
    "--health-listen": formatListen(await withFixedPort(healthListen, served.port)),
    "--state-dir": sidecar.stateDir,
    "--session-id": sidecar.identity.sessionId,
  };
  return ["serve", ...ownFlags, ...Object.entries(filledIn).flat(), "--", ...sidecar.command];
}

/** If the machine cannot report who connects to a port, the default is a socket in the private state folder. */
function isSocketUsual({ listen, "tls-dir": tlsDir, "allow-local-user": users }: Values): boolean {
  return (listen ?? tlsDir) === undefined && !users?.includes("any") && !reportsUsers();
}

function socketIn(stateDir: string): ListenAddress {
  makeFolders(stateDir);
  return parseListen(`unix:${join(stateDir, "rpc.sock")}`, "--listen", { unix: true });
}

/** The health port serves no terminal content: any address is allowed. */
function readHealthListen(text: string): ListenAddress {
  const listen = parseListen(text, "--health-listen", { unix: true });
  if (listen.path !== undefined) checkSocketFolder(listen.path);
  return listen;
}

function readSidecar(
  values: Values,
  rest: readonly string[] | undefined,
  env: Env,
  half: SidecarConfig["half"],
  sessionId: string,
): SidecarOptions {
  const profile = profileNamed(values.agent ?? "claude");
  const workdir = resolve(values.workdir ?? ".");
  if (half !== "serve") checkWorkdir(workdir);
  const given = rest !== undefined && rest.length > 0 ? rest : splitWords(env["GT_AGENT_COMMAND"] ?? "");
  const [program, ...args] = given.length > 0 ? given : usualCommand(profile, env, workdir);
  if (program === undefined) {
    throw new DomainError(
      "invalid",
      `--agent ${profile.name} needs a command: gt-sidecar --agent ${profile.name} -- PROGRAM`,
    );
  }
  return {
    agent: profile.name,
    command: [program, ...args],
    workdir,
    home: env["HOME"] ?? homedir(),
    tmuxProgram: "tmux",
    env,
    cols: within("--cols", values.cols ?? 160, 20, 500),
    rows: within("--rows", values.rows ?? 50, 5, 300),
    historyLimit: within("--history-limit", values["history-limit"] ?? 20_000, 0, 1_000_000),
    rawBytes: within("--raw-bytes", values["raw-bytes"] ?? 8 * 1024 * 1024, 64 * 1024, 1024 * 1024 * 1024),
    eventBuffer: within("--event-buffer", values["event-buffer"] ?? 10_000, 100, 1_000_000),
    eventBytes: within("--event-bytes", values["event-bytes"] ?? 16 * 1024 * 1024, 256 * 1024, 1024 * 1024 * 1024),
    redactPatterns: readPatterns(values["redact-pattern"]),
    restart: knownWord("--restart", values.restart ?? "on-failure", RESTARTS),
    lingerMs: values.linger ?? 0,
    stallAfterMs: within(
      "--stall-after",
      values["stall-after"] ?? 600_000,
      1,
      Number.MAX_SAFE_INTEGER,
      "takes more than 0s",
    ),
    identity: {
      sessionId,
      project: nameOf("--project", values.project ?? "default"),
      address: nameOf("--address", values.address ?? hostname()),
    },
    stateDir: readStateDir(values["state-dir"], env, half),
  };
}

/**
 * Replaces the name of the agent's program with its path. Call it last: wrong flags are wrong on every machine, a
 * missing program is missing on one. A serving half gets the path from the supervising half, which may run in another
 * container.
 */
function withFoundProgram(options: SidecarOptions, half: SidecarConfig["half"]): SidecarOptions {
  if (half === "serve") return options;
  const [program = "", ...args] = options.command;
  return { ...options, command: [findAgentProgram(program, options.env["PATH"] ?? "", options.workdir), ...args] };
}

/** The demo agent is shipped with this program; only an image has it in PATH. */
function usualCommand(profile: AgentProfile, env: Env, workdir: string): readonly string[] {
  if (profile.name !== "demo") return profile.command;
  try {
    findAgentProgram(profile.command[0] ?? "", env["PATH"] ?? "", workdir);
    return profile.command;
  } catch {
    return ownDemoAgent() ?? profile.command;
  }
}

/** The name that a flag gives: one line that is not empty. */
function nameOf(flag: string, text: string): string {
  if (text.trim() !== "" && text.length <= 512 && !/\p{Cc}/u.test(text)) return text;
  const why =
    text.trim() === ""
      ? "is empty"
      : `takes one line of at most 512 characters, not ${JSON.stringify(text.slice(0, 80))}`;
  throw new DomainError("invalid", `${flag} ${why}`);
}

function readStateDir(given: string | undefined, env: Env, half: SidecarConfig["half"]): string {
  if (given !== undefined) return resolve(given);
  const runtimeDir = runtimeDirOf(env);
  if (runtimeDir !== undefined) return join(runtimeDir, "gt-sidecar");
  if (half === "both") return OWN;
  throw new DomainError("invalid", `gt-sidecar ${half} needs --state-dir: the two halves share it`);
}

/** Makes the folder for this run. Call it last: a refused start leaves nothing behind. */
function withStateDir(options: SidecarOptions): SidecarOptions {
  return options.stateDir === OWN ? { ...options, stateDir: makeOwnFolder() } : options;
}

function makeOwnFolder(): string {
  const parent = parentOfSockets("gt-sidecar-XXXXXX/control.sock");
  try {
    return mkdtempSync(join(parent, "gt-sidecar-"));
  } catch (cause) {
    throw new DomainError("unavailable", `cannot make a state folder in ${parent}: ${errorText(cause)}`, {
      fields: { hint: "give --state-dir, or set TMPDIR to a folder of your own" },
      cause,
    });
  }
}

/** An empty or relative path counts as unset; so does another user's folder, which su may leave in the environment. */
function runtimeDirOf(env: Env): string | undefined {
  return ownRuntimeDir(env["XDG_RUNTIME_DIR"], process.getuid?.() ?? 0);
}

/**
 * The given session, else the session that the certificate names, else a new one. A first start fails here if the TLS
 * folder cannot be used or belongs to another session. A serving half starts and waits until it can use the folder,
 * because it may restart while files are being replaced.
 */
function sessionFor(given: string | undefined, { tlsDir: dir, half }: TrustFlagContext, crlPolicy: CrlPolicy): string {
  if (given !== undefined && !ID.test(given))
    throw new DomainError("invalid", "--session-id takes 1 to 128 of A-Z a-z 0-9 . _ -");
  if (dir === undefined || half === "supervise") return given ?? randomUUID();
  try {
    const leaf = checkTlsFolder(dir, { crlPolicyOf: () => crlPolicy }, Date.now());
    if (given !== undefined) checkSession(leaf, given);
    return given ?? sessionsOf(leaf)[0] ?? randomUUID();
  } catch (err) {
    if (half === "serve") return given ?? randomUUID();
    throw err;
  }
}

/** Checked only at the first start: later a missing folder makes the agent's own restart fail. */
function checkWorkdir(workdir: string): void {
  let problem = "there is no such folder";
  try {
    if (statSync(workdir, { throwIfNoEntry: false })?.isDirectory() === true) {
      accessSync(workdir, constants.X_OK); // tmux would start the agent elsewhere
      return;
    }
  } catch (err) {
    problem = err instanceof Error ? err.message : String(err);
  }
  throw new DomainError("invalid", `cannot work in ${workdir}: ${problem}`);
}

/** Splits words as a person writes them in an environment variable: at blanks; quotes keep a word together. */
function splitWords(text: string): readonly string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? "",
  );
}

/** An empty pattern counts as none: `--redact-pattern ""` alone turns redaction off. */
function readPatterns(given: readonly string[] | undefined): readonly string[] {
  if (given === undefined) return DEFAULT_REDACT_PATTERNS;
  const patterns = given.filter((pattern) => pattern !== "");
  new Redactor(patterns).check(); // fails here, at the start, for a text that is not a pattern
  return patterns;
}

function within(
  flag: string,
  value: number,
  least: number,
  most: number,
  fault = `is between ${least} and ${most}`,
): number {
  if (value < least || value > most) throw new DomainError("invalid", `${flag} ${fault}, not ${value}`);
  return value;
}
