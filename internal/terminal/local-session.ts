import { withTimeout } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { CommandClient } from "../tmux/command-client.ts";
import { TmuxCommandError } from "../tmux/errors.ts";
import { TmuxPane } from "../tmux/pane.ts";
import { quoteArgument } from "../tmux/quote.ts";

export interface LocalSessionOptions {
  readonly tmuxProgram: string;
  readonly socketPath: string;
  /** Name of the tmux session, matched exactly. */
  readonly session: string;
  /** Private folder for captures on their way. */
  readonly folder: string;
  /** At least PATH. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What tmux knows of a session beside its pane. Times are wall clock, ms. */
export interface SessionFacts {
  readonly lastOutputAt: number | undefined;
  /** People's terminals, without control clients such as ours. */
  readonly attached: number;
  /** Which agent program runs here, where whoever started it said so (GT_AGENT). */
  readonly agent: string | undefined;
}

const ATTACH_MS = 5000;

/** A local tmux session while we are attached to it, and the pane of it in which the agent runs. */
export class LocalSession implements AsyncDisposable {
  readonly pane: TmuxPane;
  readonly #client: CommandClient;
  readonly #options: LocalSessionOptions;
  readonly #stop: AbortController;
  readonly #running: Promise<void>;

  private constructor(
    options: LocalSessionOptions,
    client: CommandClient,
    pane: TmuxPane,
    stop: AbortController,
    running: Promise<void>,
  ) {
    this.#options = options;
    this.#client = client;
    this.pane = pane;
    this.#stop = stop;
    this.#running = running;
  }

  /** @throws DomainError `unavailable` when tmux does not let us in; `not-found` when there is no such session. */
  static async open(
    deps: { readonly clock: Clock; readonly logger: Logger },
    options: LocalSessionOptions,
    signal: AbortSignal,
  ): Promise<LocalSession> {
    const { tmuxProgram, socketPath, session, folder, env } = options;
    const client = new CommandClient(deps, { tmuxProgram, socketPath, session, env });
    const stop = new AbortController();
    const running = client.run(stop.signal);
    try {
      const what = `attaching to tmux session ${JSON.stringify(session)}`;
      const attached = client.attached(AbortSignal.any([signal, stop.signal]));
      await withTimeout(deps.clock, ATTACH_MS, what, attached);
      const pane = await findPane(client, session, folder);
      return new LocalSession(options, client, pane, stop, running);
    } catch (err) {
      stop.abort(new Error("closed"));
      await running;
      if (err instanceof DomainError && err.kind === "deadline") throw notReached(socketPath, session, err);
      throw err;
    }
  }

  async facts(): Promise<SessionFacts> {
    const target = quoteArgument(`=${this.#options.session}:`);
    const [activity, clients, agent] = await Promise.all([
      this.#client.command(`display-message -p -t ${this.pane.id} "#{window_activity}"`),
      this.#client.command(`list-clients -t ${target} -F "#{client_control_mode}"`),
      sessionVariable(this.#client, this.#options.session, "GT_AGENT"),
    ]);
    const seconds = Number(activity[0]);
    return {
      lastOutputAt: seconds > 0 ? seconds * 1000 : undefined,
      attached: clients.filter((mode) => mode === "0").length,
      agent,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("closed"));
    await this.#running;
  }
}

/** The pane that the agent's starter named (GT_PANE_ID) if it is still there, else the session's first. */
async function findPane(client: CommandClient, session: string, folder: string): Promise<TmuxPane> {
  const named = await sessionVariable(client, session, "GT_PANE_ID");
  const target = quoteArgument(`=${session}:`);
  if (named !== undefined && /^%\d{1,10}$/.test(named)) {
    const panes = await client.command(`list-panes -s -t ${target} -F "#{pane_id}"`);
    if (panes.includes(named)) return new TmuxPane(client, named, { dir: folder });
  }
  return await TmuxPane.find(client, session, { dir: folder });
}

async function sessionVariable(client: CommandClient, session: string, name: string): Promise<string | undefined> {
  try {
    const [line = ""] = await client.command(`show-environment -t ${quoteArgument(`=${session}:`)} ${name}`);
    return line.startsWith(`${name}=`) ? line.slice(name.length + 1) : undefined;
  } catch (err) {
    if (err instanceof TmuxCommandError) return undefined; // tmux's way to say that it is not set
    throw err;
  }
}

function notReached(socketPath: string, session: string, cause: unknown): DomainError {
  return new DomainError(
    "unavailable",
    `tmux at ${socketPath} does not let us into the session ${JSON.stringify(session)}`,
    { cause },
  );
}
