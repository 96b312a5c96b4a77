import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { SessionFate } from "../halves/halves-link-messages.ts";
import { SESSION, type SidecarOptions } from "../halves/options.ts";
import type { AgentProcesses } from "./agent-processes.ts";
import { callTmux } from "./tmux-call.ts";

export interface SessionRescueDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly processes: AgentProcesses;
  /** Replaces the tmux server with a new one that runs the agent. */
  readonly renewServer: () => Promise<void>;
}

interface ListedPane {
  readonly pid: number;
  readonly session: string;
  readonly sessionId: string;
}

/** Handles a session that is missing under its name: someone closed, renamed or moved it. */
export class SessionRescue {
  readonly #deps: SessionRescueDeps;
  readonly #sidecar: SidecarOptions;
  #renewing: Promise<void> | undefined;

  constructor(deps: SessionRescueDeps, sidecar: SidecarOptions) {
    this.#deps = deps;
    this.#sidecar = sidecar;
  }

  /**
   * Looks for the pane of the agent with this pid on the whole server. If the pane is in a session of another name and
   * none has the sidecar's, that session gets the name back. Undefined when the server does not answer: it is away, or
   * is being made.
   */
  async settle(pid: number): Promise<SessionFate | undefined> {
    if ((await this.#call("display-message", "-p", "#{pid}")) === undefined) return undefined;
    const panes = await this.#panes();
    const own = panes.find((pane) => pane.pid === pid);
    if (own === undefined) return "gone";
    if (panes.every(({ session }) => session !== SESSION)) {
      this.#deps.logger.warn("the session was renamed or its window moved: restoring its name");
      await this.#call("rename-session", "-t", own.sessionId, SESSION);
    }
    return "there";
  }

  /**
   * Makes a new server with a new agent, after it has ended the rest of the old agent. One at a time: a call during
   * another one gets the other's result.
   */
  renew(): Promise<void> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renew(): Promise<void> {
    await this.#deps.processes.end();
    await this.#deps.renewServer();
  }

  /** Empty if there is no session at all, which tmux reports as an error. */
  async #panes(): Promise<readonly ListedPane[]> {
    const format = "#{pane_pid} #{session_id} #{session_name}";
    const lines = (await this.#call("list-panes", "-a", "-F", format))?.split("\n") ?? [];
    return lines.flatMap((line) => {
      const [pid, sessionId = "", ...name] = line.split(" ");
      return /^\$\d+$/.test(sessionId) ? [{ pid: Number(pid), sessionId, session: name.join(" ") }] : [];
    });
  }

  #call(...command: readonly string[]): Promise<string | undefined> {
    return callTmux(this.#deps.clock, this.#sidecar, ...command);
  }
}
