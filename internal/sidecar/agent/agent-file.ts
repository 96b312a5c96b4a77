import { lstatSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { AgentProfile, FileState } from "../../agents/profile.ts";
import { aborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { Task } from "../../base/task-group.ts";
import { PinnedFolder } from "../../files/pinned-folder.ts";
import type { ProcessFacts } from "../../process/process-facts.ts";

export interface AgentFileDeps {
  readonly clock: Clock;
  readonly profile: AgentProfile;
  /** The agent's pid as the supervising half sees it; undefined while none is known. */
  readonly pid: () => number | undefined;
  /** See `HalvesLinkClient.process`. */
  readonly process: (pid: number) => Promise<ProcessFacts | undefined>;
  readonly onState: (state: FileState | undefined) => void;
  /** The names of the `.jsonl` files that the process and its descendants have open. */
  readonly files: (pid: number) => Promise<readonly string[]>;
  /** Wall clock, ms. */
  readonly lastOutputAt: () => number | undefined;
  readonly onSession: (id: string) => void;
}

/** A check is one stat; the file is read only when it has changed. */
const LOOK_EVERY_MS = 100;
const MAX_BYTES = 64 * 1024;
const SESSION_EVERY_MS = 1000;

/**
 * Follows the state file that some agents keep about themselves. For others, whose conversations are files named by id,
 * it follows which of these files they have open.
 */
export class AgentFileReader implements Task {
  readonly #deps: AgentFileDeps;
  readonly #home: string;
  readonly #strict: boolean;
  /** Version of the file that was reported last. */
  #seen: string | undefined;

  /** `strict`: no part of the file's path may be a link, because the agent is not trusted. */
  constructor(deps: AgentFileDeps, options: { readonly home: string; readonly strict: boolean }) {
    this.#deps = deps;
    this.#home = options.home;
    this.#strict = options.strict;
  }

  async run(signal: AbortSignal): Promise<void> {
    const file = this.#deps.profile.stateFile(this.#home, 1);
    await Promise.all([this.#followSession(signal), file === undefined ? aborted(signal) : this.#follow(file, signal)]);
  }

  async #follow(file: string, signal: AbortSignal): Promise<void> {
    using folder = PinnedFolder.at(dirname(file), { strict: this.#strict });
    while (!signal.aborted) {
      await this.#look(folder);
      await this.#deps.clock.sleep(LOOK_EVERY_MS, signal).catch(() => {});
    }
  }

  /**
   * Looks only after output: an agent that prints nothing opens no other file. Files of its sub-agents may be open
   * beside its own.
   */
  async #followSession(signal: AbortSignal): Promise<void> {
    const { clock, profile, files, lastOutputAt, onSession } = this.#deps;
    let seenAt: number | undefined;
    let known: string | undefined;
    while (!signal.aborted && profile.sessionOfFile !== undefined) {
      const [pid, printedAt] = [this.#deps.pid(), lastOutputAt()];
      if (pid !== undefined && printedAt !== seenAt) {
        const ids = (await files(pid)).flatMap((name) => profile.sessionOfFile?.(name) ?? []);
        if (known === undefined || !ids.includes(known)) known = ids[0];
        if (known !== undefined) onSession(known);
        seenAt = printedAt;
      }
      await clock.sleep(SESSION_EVERY_MS, signal).catch(() => {});
    }
  }

  async #look(folder: PinnedFolder): Promise<void> {
    const pid = this.#deps.pid();
    const path = pid === undefined ? undefined : this.#deps.profile.stateFile(this.#home, pid);
    if (pid === undefined || path === undefined) return;
    const name = basename(path);
    const version = versionOf(folder, name, pid);
    if (version !== undefined && version === this.#seen) return;
    const text = version === undefined ? undefined : await folder.readText(name, MAX_BYTES);
    if (text === undefined) return this.#lost();
    const facts = await this.#deps.process(pid);
    if (facts === undefined) return; // a later look will show whose file it is
    this.#deps.onState(this.#deps.profile.readStateFile(text, { pid, startTicks: facts.startTicks }));
    this.#seen = version;
  }

  #lost(): void {
    if (this.#seen !== undefined) this.#deps.onState(undefined);
    this.#seen = undefined;
  }
}

/** Undefined: there is no such file. */
function versionOf(folder: PinnedFolder, name: string, pid: number): string | undefined {
  try {
    const { mtimeNs, size, ino } = lstatSync(folder.place(name), { bigint: true });
    return `${pid}:${ino}:${mtimeNs}:${size}`;
  } catch {
    return undefined;
  }
}
