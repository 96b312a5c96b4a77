import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { create } from "@bufbuild/protobuf";
import { timedCall } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError, errorText } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Redactor } from "../../base/redact.ts";
import { agentAddressOf } from "../../bridge/session-agent.ts";
import type { Actor, SessionTerminal } from "../../bridge/session-backend.ts";
import { SidecarLink } from "../../bridge/sidecar-link.ts";
import type {
  LaunchedTerminal,
  TerminalConfig,
  TerminalLauncher,
  TerminalSurvivor,
} from "../../bridge/terminal-launcher.ts";
import {
  SidecarPeekRequestSchema,
  SidecarService,
  SidecarStatusRequestSchema,
} from "../../gen/gastown/v1/sidecar_pb.ts";
import { lastWords } from "../../process/last-words.ts";
import { killMarked } from "../../process/marked-processes.ts";
import { checkMayWorkIn } from "../../process/users/may-work-in.ts";
import type { UnixUser } from "../../process/users/unix-user.ts";
import type { UserOf } from "../../process/users/users-of-projects.ts";
import type { SidecarConnection } from "../../rpc/client/transport.ts";
import { lostTerminal } from "../ledger/lost-terminal.ts";
import { MARKER } from "../ledger/session-marker.ts";
import { LaunchedSidecar } from "./launched-sidecar.ts";
import { adoptSidecarProcess, lastErrorIn, type SidecarProcess, startSidecarProcess } from "./sidecar-process.ts";
import { checkInteractive } from "./terminal-command.ts";
import { type Apart, TerminalFolder, type TerminalRecord } from "./terminal-folder.ts";

/** An agent program to run in a terminal. */
export interface TerminalProgram {
  /** Program and arguments. @throws DomainError `precondition` if the program does not exist */
  command(options: TerminalConfig["options"]): readonly [string, ...string[]];
  readonly env: (user?: UnixUser) => Readonly<Record<string, string>>;
  readonly startupTimeoutMs: number;
}

export interface SidecarLauncherDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Removes secrets from errors that quote a program. */
  readonly redactor: Redactor;
  /** Opens connections over the sockets that `dial` connects. */
  readonly connect: (dial: () => Socket) => SidecarConnection;
  /** Added to the environment of a session's agent. */
  readonly environmentOf?: (session: TerminalConfig) => Readonly<Record<string, string>>;
}

export interface SidecarLauncherOptions {
  /** gt-sidecar: program and leading arguments. */
  readonly sidecar: readonly [string, ...string[]];
  /** Flags that every sidecar gets. */
  readonly flags: readonly string[];
  /** The parent of the sessions' folders; accessible only to this user. */
  readonly folder: string;
  /** The users that projects' agents run as, and the parent of their folders. Absent: this process's user. */
  readonly apart?: { readonly userOf: UserOf; readonly places: string } | undefined;
  /** By provider. */
  readonly programs: ReadonlyMap<string, TerminalProgram>;
}

/** How long a sidecar lingers for a final snapshot: longer than the bridge needs for it. */
const LINGER = "10s";
const BRIDGE: Actor = { identity: "bridge", role: "read" };
const ASK_EVERY_MS = 50;
/** The number of last lines shown of an agent that ended as it started. */
const LAST_LINES = 3;
const ANSWER_MS = 2000;
/** The last lines come through a pipe, and may arrive a moment after the agent's end is known. */
const LAST_LINES_MS = 2000;
/** How long a sidecar of an earlier daemon may take to answer. */
const SURVIVOR_MS = 10_000;

/**
 * Agents in terminals, each behind a `gt-sidecar` of its own at a unix socket in a private folder. They outlive this
 * process.
 */
export class SidecarLauncher implements TerminalLauncher {
  readonly #deps: SidecarLauncherDeps;
  readonly #options: SidecarLauncherOptions;

  constructor(deps: SidecarLauncherDeps, options: SidecarLauncherOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  checkOptions(provider: string, options: TerminalConfig["options"]): void {
    checkInteractive(provider, options);
  }

  async start(config: TerminalConfig, signal: AbortSignal): Promise<LaunchedTerminal> {
    const program = this.#programOf(config);
    const command = program.command(config.options);
    const apart = this.#apartOf(config);
    if (apart !== undefined) await checkMayWorkIn(apart.user, config.cwd, config.repoPath, signal);
    const folder = TerminalFolder.of(this.#options.folder, config, apart);
    folder.remove();
    const begun = { version: 1, config, marker: randomUUID(), pid: 0, startedAt: "" } as const;
    const record: TerminalRecord = { ...begun, apart };
    folder.write(record);
    folder.makePlace();
    return this.#launch(folder, record, command, config.cwd, signal);
  }

  async survivors(signal: AbortSignal): Promise<readonly TerminalSurvivor[]> {
    const folders = TerminalFolder.list(this.#options.folder);
    const found = await Promise.all(folders.map((folder) => this.#survivor(folder, signal)));
    return found.flatMap((survivor) => survivor ?? []);
  }

  #apartOf({ project }: TerminalConfig): Apart | undefined {
    const { apart } = this.#options;
    const user = apart?.userOf(project);
    return apart && user && { user, places: apart.places };
  }

  #programOf({ provider }: TerminalConfig): TerminalProgram {
    const program = this.#options.programs.get(provider);
    if (program !== undefined) return program;
    throw new DomainError("precondition", `the provider ${provider} has no mode terminal here`);
  }

  /** @throws DomainError `precondition`, `deadline`; it then leaves nothing running */
  async #launch(
    folder: TerminalFolder,
    record: TerminalRecord,
    command: readonly string[],
    cwd: string,
    signal: AbortSignal,
  ): Promise<LaunchedTerminal> {
    const { config, marker } = record;
    const { startupTimeoutMs } = this.#programOf(config);
    try {
      const started = await this.#startProcess(folder, record, command, cwd);
      const launched = this.#follow(folder, record, started);
      await this.#answers(launched, folder, config, { ms: startupTimeoutMs, signal });
      return launched;
    } catch (err) {
      killMarked(MARKER, marker);
      folder.remove();
      throw err;
    }
  }

  /** Starts a sidecar, and writes its pid to the folder's record. */
  async #startProcess(
    folder: TerminalFolder,
    record: TerminalRecord,
    command: readonly string[],
    cwd: string,
  ): Promise<SidecarProcess> {
    const { config, marker } = record;
    const { env } = this.#programOf(config);
    const [program, ...leading] = this.#options.sidecar;
    const args = [...leading, ...this.#flagsOf(folder, config), "--", ...command];
    const user = record.apart?.user;
    const own = { ...env(user), ...this.#deps.environmentOf?.(config), [MARKER]: marker };
    const started = await startSidecarProcess({ program, args, cwd, env: own, log: folder.log, user });
    folder.write({ ...record, pid: started.pid, startedAt: started.startedAt });
    return started;
  }

  /** Starts another sidecar for an agent that has outlived its own; undefined if the agent has ended too. */
  async #startNext(
    folder: TerminalFolder,
    record: TerminalRecord,
    signal: AbortSignal,
  ): Promise<SidecarProcess | undefined> {
    const { config } = record;
    if (!(await folder.hasServer(this.#deps.clock)) || signal.aborted) return undefined;
    const command = this.#programOf(config).command(config.options);
    return this.#startProcess(folder, record, command, config.repoPath);
  }

  #flagsOf(folder: TerminalFolder, { project, sessionId, provider, request }: TerminalConfig): readonly string[] {
    return [
      ...["--listen", `unix:${folder.socket}`, "--health-listen", `unix:${folder.healthSocket}`],
      ...["--state-dir", folder.stateDir, "--agent", provider, "--workdir", "."],
      ...["--session-id", sessionId, "--project", project, "--address", agentAddressOf(request)],
      ...["--restart", "never", "--linger", LINGER, ...this.#options.flags],
    ];
  }

  #follow(folder: TerminalFolder, record: TerminalRecord, process: SidecarProcess): LaunchedSidecar {
    const { config, marker } = record;
    const { clock, logger, connect } = this.#deps;
    const connection = connect(() => folder.dial());
    const terminal = new SidecarLink(connection);
    const onEnded = () => {
      connection[Symbol.dispose]();
      folder.remove();
    };
    const startNext = (signal: AbortSignal) => this.#startNext(folder, record, signal);
    const agent = agentAddressOf(config.request);
    return new LaunchedSidecar({ clock, logger, terminal, process, startNext, onEnded }, { agent, marker });
  }

  /**
   * Resolves once the sidecar answers Status and the agent is running. @throws DomainError `precondition`, `deadline`
   */
  async #answers(
    launched: LaunchedSidecar,
    folder: TerminalFolder,
    config: TerminalConfig,
    { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const { clock } = this.#deps;
    const ended = launched.ended.then(() => {
      const why = lastWordOf(folder) || "its sidecar ended";
      throw new DomainError("precondition", `cannot start ${config.provider} in a terminal: ${why}`);
    });
    const ready = (stop: AbortSignal) => Promise.race([this.#untilReady(launched, config, stop), ended]);
    await timedCall(clock, { ms, what: `the start of ${config.provider}` }, signal, ready);
  }

  async #untilReady({ terminal }: LaunchedTerminal, config: TerminalConfig, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    for (;;) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
      const asked = terminal.unary(SidecarService.method.status, create(SidecarStatusRequestSchema), BRIDGE, limit);
      const status = await asked.catch(() => undefined);
      signal.throwIfAborted();
      if (status !== undefined && status.sessionId !== config.sessionId) {
        throw new DomainError("precondition", "the sidecar that answers is another session's");
      }
      if (status?.sessionAlive === true) return;
      if (status?.exitCode !== undefined) throw await this.#endedAtOnce(terminal, config, status.exitCode, signal);
      await clock.sleep(ASK_EVERY_MS, signal);
    }
  }

  /** The error about an agent that ended before it was ready, with its last output as the reason. */
  async #endedAtOnce(
    terminal: SessionTerminal,
    { provider }: TerminalConfig,
    exitCode: number,
    signal: AbortSignal,
  ): Promise<DomainError> {
    const { clock, redactor } = this.#deps;
    const end = clock.monotonicMs() + LAST_LINES_MS;
    let said = "";
    while (said === "" && clock.monotonicMs() < end) {
      said = lastWords(await this.#lastLines(terminal, signal), redactor);
      if (said === "") await clock.sleep(ASK_EVERY_MS, signal);
    }
    return new DomainError("precondition", `${provider} ended with exit code ${exitCode} as it started${said}`);
  }

  async #lastLines(terminal: SessionTerminal, signal: AbortSignal): Promise<string> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
    const request = create(SidecarPeekRequestSchema, { lines: LAST_LINES });
    const asked = terminal.unary(SidecarService.method.peek, request, BRIDGE, limit);
    return await asked.then(
      (screen) => screen.output,
      () => "",
    );
  }

  async #survivor(folder: TerminalFolder, signal: AbortSignal): Promise<TerminalSurvivor | undefined> {
    const { clock, logger } = this.#deps;
    const record = folder.read();
    if (record === undefined) {
      folder.remove();
      return undefined;
    }
    const { config, marker } = record;
    const session = { session: config.sessionId, project: config.project };
    const before = adoptSidecarProcess(clock, record.pid, record.startedAt);
    try {
      const launched = await this.#taken(folder, record, before, signal);
      if (launched !== undefined) {
        logger.info(session, "resuming a session of an earlier bridge");
        return { config, launched };
      }
    } catch (err) {
      logger.warn({ ...session, err: errorText(err) }, "cannot resume a session of an earlier bridge");
    }
    before?.signal("SIGKILL");
    killMarked(MARKER, marker);
    folder.remove();
    logger.warn(session, "a session of an earlier bridge has ended with that bridge");
    return { config, launched: lostTerminal(config, clock.now()), isLost: true };
  }

  /**
   * The session's running sidecar, or a new one for an agent whose sidecar was killed. Undefined if the agent has
   * ended.
   */
  async #taken(
    folder: TerminalFolder,
    record: TerminalRecord,
    before: SidecarProcess | undefined,
    signal: AbortSignal,
  ): Promise<LaunchedTerminal | undefined> {
    const { config } = record;
    if (before !== undefined) {
      const launched = this.#follow(folder, record, before);
      await this.#answers(launched, folder, config, { ms: SURVIVOR_MS, signal });
      return launched;
    }
    if (!(await folder.hasServer(this.#deps.clock))) return undefined;
    const command = this.#programOf(config).command(config.options);
    return this.#launch(folder, record, command, config.repoPath, signal);
  }
}

function lastWordOf(folder: TerminalFolder): string {
  try {
    return lastErrorIn(folder.log);
  } catch {
    return "";
  }
}
