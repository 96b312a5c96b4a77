import { stat } from "node:fs/promises";
import type { AgentProfile, FileState } from "../../agents/profile.ts";
import { aborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { Task } from "../../base/task-group.ts";
import { readPlainFile } from "../../files/plain-file.ts";
import type { ProcessFacts } from "../halves/halves-link-messages.ts";

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
  /** Version of the file that was told of last. */
  #seen: string | undefined;

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
    const version = await versionOf(path, pid);
    if (version !== undefined && version === this.#seen) return;
    const text = version === undefined ? undefined : await readPlainFile(path, MAX_BYTES);
    if (text === undefined) return this.#lost();
    const facts = await this.#deps.process(pid);
    if (facts === undefined) return; // whose file it is will be known at a later look
    this.#deps.onState(this.#deps.profile.readStateFile(text, { pid, startTicks: facts.startTicks }));
    this.#seen = version;
  }

  #lost(): void {
    if (this.#seen !== undefined) this.#deps.onState(undefined);
    this.#seen = undefined;
  }
}

/** Undefined: there is nothing that could be looked at. */
async function versionOf(path: string, pid: number): Promise<string | undefined> {
  try {
    const { mtimeNs, size, ino } = await stat(path, { bigint: true });
    return `${pid}:${ino}:${mtimeNs}:${size}`;
  } catch {
    return undefined;
  }
}
