import type { ThreadTools } from "../../agents/thread-tools.ts";
import type { Clock } from "../../base/clock.ts";
import type { Environment } from "../../base/environment.ts";
import { DomainError } from "../../base/errors.ts";
import type { Redactor } from "../../base/redact.ts";
import type {
  AgentEvent,
  AgentInput,
  Capability,
  InputOutcome,
  Provider,
  ProviderHealth,
  SessionConfig,
  SessionHandle,
} from "../../bridge/provider.ts";
import type { MarkedProcesses } from "../../process/children/marked-processes.ts";
import type { OrphanGuard } from "../../process/children/orphan-guard.ts";
import type { RunCommand } from "../../process/run-command.ts";
import { checkMayWorkIn } from "../../process/users/may-work-in.ts";
import type { UnixUser } from "../../process/users/unix-user.ts";
import type { UserOf } from "../../process/users/users-of-projects.ts";
import { checkAllowed, checkOptions } from "../conversation/agent-options.ts";
import type { ProgramDialect } from "../conversation/conversation.ts";
import { agentEnvironment } from "./agent-environment.ts";
import { ProgramHealth } from "./program-health.ts";
import { StdioHandle } from "./stdio-handle.ts";

/** A provider's program, as configured. */
export interface ProgramConfig {
  /** A name found on PATH, or a path. */
  readonly binary: string;
  /** Arguments before all others, e.g. the file that an interpreter runs; not checked. */
  readonly leading?: readonly string[];
  /** Arguments that have passed `usableArgs`. */
  readonly args: readonly string[];
  readonly startupTimeoutMs: number;
  /** The options that a caller may choose, `mode` among them; undefined: all. */
  readonly allow?: readonly string[] | undefined;
}

export interface StdioDeps {
  readonly clock: Clock;
  readonly run: RunCommand;
  /** The environment that agents may inherit from; see `agentEnvironment`. */
  readonly env: Environment;
  readonly guard: OrphanGuard;
  readonly marked: MarkedProcesses;
  /** Removes secrets from errors that quote an agent. */
  readonly redactor: Redactor;
  /** The base of a relative `binary`. */
  readonly cwd: string;
  /** Added to the environment of a session's agent. */
  readonly environmentOf?: (session: SessionConfig) => Readonly<Record<string, string>>;
  /** The tools of `threads` for a session's agent; undefined: it gets none. */
  readonly threadToolsOf?: (session: SessionConfig) => ThreadTools | undefined;
  /**
   * The user that a project's agents run as. Absent: this process's user.
   * @throws DomainError `denied` if other projects have users and this project has none
   */
  readonly userOf?: UserOf;
  /** The user that programs run as when they are asked for their versions. Default: this process's user. */
  readonly asking?: UnixUser | undefined;
  /** The provider's agents can also run in terminals, which other code starts. Default false. */
  readonly hasTerminals?: boolean;
}

/** One agent program as child processes that speak their machine-readable protocol over pipes. */
export class StdioProvider implements Provider {
  readonly id: string;
  readonly binary: string;
  readonly capabilities: readonly Capability[];
  readonly #deps: StdioDeps;
  readonly #dialect: ProgramDialect;
  readonly #config: ProgramConfig;
  readonly #health: ProgramHealth;

  constructor(deps: StdioDeps, dialect: ProgramDialect, config: ProgramConfig) {
    this.id = dialect.id;
    this.binary = config.binary;
    this.capabilities = [
      "stdio",
      ...(deps.hasTerminals ? (["terminal"] as const) : []),
      ...(dialect.canResume ? (["resume"] as const) : []),
    ];
    this.#deps = deps;
    this.#dialect = dialect;
    this.#config = config;
    const env = agentEnvironment(dialect, deps.env, deps.asking);
    this.#health = new ProgramHealth(deps, {
      user: deps.asking,
      ...{ provider: dialect.id, binary: config.binary, cwd: deps.cwd, env },
      ...{ versionArgs: config.leading ?? [], startupTimeoutMs: config.startupTimeoutMs },
    });
  }

  checkAllowed(options: SessionConfig["options"]): void {
    checkAllowed(this.id, this.#config.allow, options);
  }

  checkOptions(options: SessionConfig["options"]): void {
    checkOptions(this.id, this.#dialect.options, options);
  }

  async start(config: SessionConfig, signal: AbortSignal): Promise<SessionHandle> {
    this.checkOptions(config.options);
    const program = this.#health.locate();
    if (program === undefined) {
      const message = `${this.id} is not available: no program ${JSON.stringify(this.binary)} found`;
      throw new DomainError("precondition", message, { fields: { provider: this.id } });
    }
    const user = this.#deps.userOf?.(config.project);
    if (user !== undefined) await checkMayWorkIn(user, config.cwd, config.repoPath, signal);
    const { leading = [], args, startupTimeoutMs } = this.#config;
    const own = { ...agentEnvironment(this.#dialect, this.#deps.env, user), ...this.#deps.environmentOf?.(config) };
    const tools = this.#deps.threadToolsOf?.(config);
    const added = tools && this.#dialect.threadTools?.(tools, own);
    const command = {
      program,
      args: [...leading, ...this.#dialect.argv(args, config), ...(added?.args ?? [])],
      cwd: config.cwd,
      env: { ...own, ...tools?.env, ...added?.env },
      user,
    };
    const deps = { ...this.#deps, dialect: this.#dialect, startupTimeoutMs };
    return StdioHandle.start(deps, command, config, signal);
  }

  send(handle: SessionHandle, input: AgentInput, signal: AbortSignal): Promise<InputOutcome> {
    return own(handle).send(input, signal);
  }

  stop(handle: SessionHandle, graceMs: number): Promise<void> {
    return own(handle).stop(graceMs);
  }

  events(handle: SessionHandle): AsyncIterable<AgentEvent> {
    return own(handle).events;
  }

  health(): Promise<ProviderHealth> {
    return this.#health.check();
  }
}

function own(handle: SessionHandle): StdioHandle {
  if (handle instanceof StdioHandle) return handle;
  throw new DomainError("invalid", "this session was not started by this provider");
}
