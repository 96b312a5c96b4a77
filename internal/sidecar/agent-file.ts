import { readFile, stat } from "node:fs/promises";
import type { AgentProfile, FileState } from "../agents/profile.ts";
import { aborted } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import type { Task } from "../base/task-group.ts";
import type { ProcessFacts } from "./control-messages.ts";

export interface AgentFileDeps {
  readonly clock: Clock;
  readonly profile: AgentProfile;
  /** The agent's pid as the supervising half sees it; undefined while none is known. */
  readonly pid: () => number | undefined;
  /** See `ControlClient.process`. */
  readonly process: (pid: number) => Promise<ProcessFacts | undefined>;
  readonly onState: (state: FileState | undefined) => void;
}

/** A look is one stat; the file is read only when it has changed. */
const LOOK_EVERY_MS = 100;
const MAX_BYTES = 64 * 1024;

/** Follows the state file that some agents keep about themselves. For other agents it does nothing. */
export class AgentFileReader implements Task {
  readonly #deps: AgentFileDeps;
  readonly #home: string;
  #seen = "";

  constructor(deps: AgentFileDeps, options: { readonly home: string }) {
    this.#deps = deps;
    this.#home = options.home;
  }

  async run(signal: AbortSignal): Promise<void> {
    if (this.#deps.profile.stateFile(this.#home, 1) === undefined) return aborted(signal);
    while (!signal.aborted) {
      await this.#look();
      await this.#deps.clock.sleep(LOOK_EVERY_MS, signal).catch(() => {});
    }
  }

  async #look(): Promise<void> {
    const pid = this.#deps.pid();
    const path = pid === undefined ? undefined : this.#deps.profile.stateFile(this.#home, pid);
    if (pid === undefined || path === undefined) return;
    try {
      const { mtimeNs, size, ino } = await stat(path, { bigint: true });
      const version = `${pid}:${ino}:${mtimeNs}:${size}`;
      if (version === this.#seen || size > MAX_BYTES) return;
      const text = await readFile(path, "utf8");
      const facts = await this.#deps.process(pid);
      if (facts === undefined) return; // whose file it is will be known at a later look
      this.#deps.onState(this.#deps.profile.readStateFile(text, { pid, startTicks: facts.startTicks }));
      this.#seen = version;
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== "ENOENT") throw err;
      if (this.#seen !== "") this.#deps.onState(undefined);
      this.#seen = "";
    }
  }
}
