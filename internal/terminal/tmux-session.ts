import { withTimeout } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { captureFolder } from "../tmux/client/capture-folder.ts";
import { ForkedCommands } from "../tmux/client/forked-commands.ts";
import { compareVersions, type TmuxVersion } from "../tmux/client/version.ts";
import type { Commands } from "../tmux/pane/commands.ts";
import { TmuxCommandError } from "../tmux/pane/errors.ts";
import { TmuxPane } from "../tmux/pane/pane.ts";
import { quoteArgument } from "../tmux/pane/quote.ts";

export interface TmuxSessionOptions {
  readonly tmuxProgram: string;
  readonly tmuxVersion: TmuxVersion;
  readonly socketPath: string;
  /** Name of the tmux session, matched exactly. */
  readonly session: string;
  /** The session's only pane, if it is known, which saves a call of tmux to find it. */
  readonly pane?: string | undefined;
  /** Private folder for captures in transit. */
  readonly folder: string;
  /** The environment of tmux, with at least PATH. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** tmux's facts about a session besides its pane. Times are wall clock, ms. */
export interface TmuxSessionFacts {
  readonly lastOutputAt: number | undefined;
  /** The number of people's terminals, without control clients such as ours. */
  readonly attached: number;
  /** The agent program that runs here, if the session's environment names it (GT_AGENT). */
  readonly agent: string | undefined;
}

const ATTACH_MS = 5000;

/** A local tmux session, and the pane of it in which the agent runs. */
export class TmuxSession implements AsyncDisposable {
  readonly pane: TmuxPane;
  readonly #commands: Commands;
  readonly #session: string;
  readonly #close: () => Promise<void>;

  private constructor(session: string, { commands, close }: Connection, pane: TmuxPane) {
    this.#session = session;
    this.#commands = commands;
    this.#close = close;
    this.pane = pane;
  }

  /** @throws DomainError `unavailable` when tmux does not let us in; `not-found` when there is no such session. */
  static async open(deps: ConnectDeps, options: TmuxSessionOptions, signal: AbortSignal): Promise<TmuxSession> {
    const connection = await connect(deps, options, signal);
    try {
      return new TmuxSession(options.session, connection, await findPane(connection.commands, options));
    } catch (err) {
      await connection.close();
      throw err;
    }
  }

  async facts(): Promise<TmuxSessionFacts> {
    const target = quoteArgument(`=${this.#session}:`);
    const [activity, clients, agent] = await Promise.all([
      this.#commands.command(`display-message -p -t ${this.pane.id} "#{window_activity}"`),
      this.#commands.command(`list-clients -t ${target} -F "#{client_control_mode}"`),
      sessionVariable(this.#commands, this.#session, "GT_AGENT"),
    ]);
    const seconds = Number(activity[0]);
    return {
      lastOutputAt: seconds > 0 ? seconds * 1000 : undefined,
      attached: clients.filter((mode) => mode === "0").length,
      agent,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

interface ConnectDeps {
  readonly clock: Clock;
  readonly logger: () => Promise<Logger>;
}

/** A connection over which the server takes commands. */
interface Connection {
  readonly commands: Commands;
  close(): Promise<void>;
}

/**
 * Older servers crash, and end all agents on them, if a session is created or closed while a control client attaches.
 */
const SAFE_TO_ATTACH = { major: 3, minor: 7, suffix: "" };

async function connect(deps: ConnectDeps, options: TmuxSessionOptions, signal: AbortSignal): Promise<Connection> {
  if (compareVersions(options.tmuxVersion, SAFE_TO_ATTACH) >= 0) return await attach(deps, options, signal);
  return { commands: new ForkedCommands(options), close: () => Promise.resolve() };
}

async function attach(deps: ConnectDeps, options: TmuxSessionOptions, signal: AbortSignal): Promise<Connection> {
  const { socketPath, session } = options;
  const { CommandClient } = await import("../tmux/control/command-client.ts");
  const { controlClients } = await import("../tmux/client/control-connection.ts");
  const client = new CommandClient(
    { clock: deps.clock, logger: await deps.logger() },
    { open: controlClients(deps, options) },
  );
  const stop = new AbortController();
  const running = client.run(stop.signal);
  const close = async () => {
    stop.abort(new Error("closed"));
    await running;
  };
  try {
    const what = `attaching to tmux session ${JSON.stringify(session)}`;
    await withTimeout(deps.clock, ATTACH_MS, what, client.attached(AbortSignal.any([signal, stop.signal])));
    return { commands: client, close };
  } catch (err) {
    await close();
    if (err instanceof DomainError && err.kind === "deadline") throw notReached(socketPath, session, err);
    throw err;
  }
}

/** The pane that the agent's starter named (GT_PANE_ID) if it still exists, otherwise the session's first. */
async function findPane(commands: Commands, options: TmuxSessionOptions): Promise<TmuxPane> {
  const { session, pane, folder } = options;
  if (pane !== undefined) return new TmuxPane(commands, pane, captureFolder(folder));
  const [named, ids] = await Promise.all([
    sessionVariable(commands, session, "GT_PANE_ID"),
    TmuxPane.list(commands, session),
  ]);
  const first = ids[0] ?? "";
  return new TmuxPane(commands, named !== undefined && ids.includes(named) ? named : first, captureFolder(folder));
}

async function sessionVariable(commands: Commands, session: string, name: string): Promise<string | undefined> {
  try {
    const [line = ""] = await commands.command(`show-environment -t ${quoteArgument(`=${session}:`)} ${name}`);
    return line.startsWith(`${name}=`) ? line.slice(name.length + 1) : undefined;
  } catch (err) {
    if (err instanceof TmuxCommandError) return undefined; // tmux's way to say that it is not set
    throw err;
  }
}

function notReached(socketPath: string, session: string, cause: unknown): DomainError {
  return new DomainError(
    "unavailable",
    `tmux at ${socketPath} does not allow access to the session ${JSON.stringify(session)}`,
    { cause },
  );
}

/** Whether the error means that the pane or session has disappeared. */
export function isGone(err: unknown): boolean {
  return err instanceof TmuxCommandError || (err instanceof DomainError && err.kind === "unavailable");
}
