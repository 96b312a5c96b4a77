import { DomainError } from "../../internal/base/errors.ts";
import type { LogLevel } from "../../internal/base/logger.ts";
import { isLoopbackAddress } from "../../internal/base/loopback.ts";
import { parseFlags } from "../../internal/cli/flags.ts";
import { nearestName } from "../../internal/cli/nearest-name.ts";
import type { ListenAddress } from "../../internal/rpc/port/listen.ts";
import { parseAddress } from "../../internal/rpc/port/parse-address.ts";
import { AGENT_TTL_MS, defaultStateDir, PERSON_TTL_MS } from "../../internal/threads/client/local-issuer.ts";

/** What every command needs to find the database and the keys. */
export interface PlaceConfig {
  readonly stateDir: string;
  /** Undefined: an own PostgreSQL. */
  readonly databaseUrl: string | undefined;
  readonly migrateUrl: string | undefined;
  readonly postgres: string | undefined;
  readonly workspace: string;
  /** Where sidecars of this machine announce themselves. */
  readonly runtimeDir: string | undefined;
  readonly env: Env;
}

export interface ServeCommand extends PlaceConfig {
  readonly type: "serve";
  readonly listen: ListenAddress;
  readonly healthListen: ListenAddress;
  readonly runtime: "local" | "none";
  readonly logLevel: LogLevel;
}

export interface TokenCommand extends PlaceConfig {
  readonly type: "token";
  readonly agent: string;
  readonly role: string;
  readonly session: string | undefined;
  readonly ttlMs: number;
  readonly file: string | undefined;
}

export type ThreadsCommand =
  | { readonly type: "help" | "version" }
  | ServeCommand
  | TokenCommand
  | (PlaceConfig & { readonly type: "migrate" | "doctor" });

type Env = Readonly<Record<string, string | undefined>>;

const PLACE = {
  "database-url": { type: "string", env: "GT_THREADS_DATABASE_URL" },
  "migrate-url": { type: "string", env: "GT_THREADS_MIGRATE_URL" },
  "state-dir": { type: "string", env: "GT_THREADS_STATE_DIR" },
  postgres: { type: "string", env: "GT_THREADS_POSTGRES" },
  workspace: { type: "string", env: "GT_THREADS_WORKSPACE" },
} as const;

const SERVE = {
  ...PLACE,
  listen: { type: "string", env: "GT_THREADS_LISTEN" },
  "health-listen": { type: "string", env: "GT_THREADS_HEALTH_LISTEN" },
  runtime: { type: "string", env: "GT_THREADS_RUNTIME" },
  "log-level": { type: "string", env: "GT_THREADS_LOG_LEVEL" },
} as const;

const TOKEN = {
  ...PLACE,
  agent: { type: "string" },
  role: { type: "string" },
  session: { type: "string" },
  ttl: { type: "duration" },
  file: { type: "string" },
} as const;

const COMMANDS = ["serve", "token", "migrate", "doctor"] as const;
const LEVELS: readonly string[] = ["debug", "info", "warn", "error", "silent"];
const WORKSPACE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const AGENT = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,255}$/;
const ROLE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const LONGEST = { operator: PERSON_TTL_MS, agent: AGENT_TTL_MS };

/** Reads the command, its flags and the environment. @throws DomainError `invalid` */
export function readConfig(argv: readonly string[], env: Env): ThreadsCommand {
  const [first = "serve", ...rest] = argv;
  const isFlag = first.startsWith("-");
  const name = isFlag ? "serve" : first;
  const given = isFlag ? argv : rest;
  if (name === "help") return { type: "help" };
  if (!(COMMANDS as readonly string[]).includes(name)) throw unknownCommand(name);
  if (name === "token") return readToken(given, env);
  const { ask, values, positionals } = parseFlags(name === "serve" ? SERVE : PLACE, given, env);
  if (ask !== undefined) return { type: ask };
  refusePositional(positionals);
  if (name !== "serve") return { type: name as "migrate" | "doctor", ...placeOf(values, env) };
  return readServe(values as ReturnType<typeof parseFlags<typeof SERVE>>["values"], env);
}

function readServe(values: ReturnType<typeof parseFlags<typeof SERVE>>["values"], env: Env): ServeCommand {
  const runtime = values.runtime ?? "local";
  if (runtime !== "local" && runtime !== "none") {
    throw new DomainError("invalid", `--runtime takes local or none, not ${JSON.stringify(runtime)}`);
  }
  const level = values["log-level"] ?? "info";
  if (!LEVELS.includes(level)) throw new DomainError("invalid", `--log-level takes ${LEVELS.join(", ")}`);
  return {
    type: "serve",
    ...placeOf(values, env),
    listen: addressOf(values.listen ?? "127.0.0.1:9448", "--listen"),
    healthListen: addressOf(values["health-listen"] ?? "127.0.0.1:9449", "--health-listen"),
    runtime,
    logLevel: level as LogLevel,
  };
}

function readToken(argv: readonly string[], env: Env): ThreadsCommand {
  const { ask, values, positionals } = parseFlags(TOKEN, argv, env);
  if (ask !== undefined) return { type: ask };
  refusePositional(positionals);
  const { agent, role = "worker", session, file } = values;
  if (agent === undefined) throw new DomainError("invalid", "threads token needs --agent");
  if (!AGENT.test(agent)) throw new DomainError("invalid", `--agent is no address: ${JSON.stringify(agent)}`);
  if (!ROLE.test(role)) throw new DomainError("invalid", `--role is no role: ${JSON.stringify(role)}`);
  const longest = role === "operator" ? LONGEST.operator : LONGEST.agent;
  const ttlMs = values.ttl ?? longest;
  if (ttlMs < 1000 || ttlMs > longest) {
    throw new DomainError("invalid", `--ttl is between 1s and ${longest / 60_000}m for the role ${role}`);
  }
  return { type: "token", ...placeOf(values, env), agent, role, session, ttlMs, file };
}

function placeOf(values: ReturnType<typeof parseFlags<typeof PLACE>>["values"], env: Env): PlaceConfig {
  const databaseUrl = values["database-url"];
  for (const name of ["database-url", "migrate-url"] as const) {
    const url = values[name];
    if (url !== undefined && !/^postgres(ql)?:\/\//.test(url)) {
      throw new DomainError("invalid", `--${name} is no URL that begins with postgres://`);
    }
  }
  const workspace = values.workspace ?? "default";
  if (!WORKSPACE.test(workspace))
    throw new DomainError("invalid", `--workspace is no name: ${JSON.stringify(workspace)}`);
  return {
    stateDir: values["state-dir"] ?? defaultStateDir(env, databaseUrl === undefined),
    databaseUrl,
    migrateUrl: values["migrate-url"] ?? databaseUrl,
    postgres: values.postgres,
    workspace,
    runtimeDir: env["XDG_RUNTIME_DIR"],
    env: { PATH: env["PATH"] },
  };
}

function addressOf(text: string, flag: string): ListenAddress {
  const address = parseAddress(text);
  if (address === undefined) throw new DomainError("invalid", `${flag} takes HOST:PORT, not ${JSON.stringify(text)}`);
  if (address.host === "localhost" || isLoopbackAddress(address.host)) return address;
  throw new DomainError("invalid", `${flag}: cannot serve ${address.host} in plaintext`, {
    fields: { hint: "listen on a loopback address" },
  });
}

function refusePositional(positionals: readonly string[]): void {
  if (positionals[0] !== undefined) throw new DomainError("invalid", `unexpected argument "${positionals[0]}"`);
}

function unknownCommand(name: string): DomainError {
  const nearest = nearestName(name, COMMANDS);
  const hint = nearest === undefined ? "threads --help lists the commands" : `did you mean threads ${nearest}?`;
  return new DomainError("invalid", `unknown command "${name}"`, { fields: { hint } });
}
