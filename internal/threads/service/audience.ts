import { raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import type { Change, Changes } from "../domain/changes.ts";
import type { Store } from "../domain/store.ts";
import type { Principal } from "../domain/types.ts";
import { roleClassOf, seesAll } from "./access.ts";

/** A change that the listener's caller may read. */
interface OwnNews {
  readonly threadId?: string;
  /** The caller's unread messages may have changed. */
  readonly inbox: boolean;
}

interface Listener {
  readonly caller: Pick<Principal, "workspace" | "agent" | "role">;
  /** The ids of threads to report when changes may have been missed. */
  readonly watched: () => Iterable<string>;
  readonly heard: (news: OwnNews) => void;
}

interface Deps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: Pick<Store, "reads">;
  readonly changes: Changes;
}

interface Pending {
  readonly workspace: string;
  readonly threadId: string;
  /** Agents whose inboxes have changed; undefined: all participants. */
  agents: ReadonlySet<string> | undefined;
}

const AGAIN_MS = 500;

/**
 * Passes each change of a thread to the listeners that may read it. Looks the participants up after the change, once
 * for all listeners.
 */
export class Audience implements Task {
  readonly #deps: Deps;
  readonly #listeners = new Map<string, Set<Listener>>();
  #pending = new Map<string, Pending>();
  #news = Promise.withResolvers<void>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  subscribe(listener: Listener): Disposable {
    const { workspace } = listener.caller;
    const all = this.#listeners.get(workspace) ?? new Set();
    this.#listeners.set(workspace, all.add(listener));
    return {
      [Symbol.dispose]: () => {
        all.delete(listener);
        if (all.size === 0 && this.#listeners.get(workspace) === all) this.#listeners.delete(workspace);
      },
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    using _heard = this.#deps.changes.subscribe((change) => this.#heard(change));
    while (!signal.aborted) {
      await raceSignal(this.#news.promise, signal).catch(() => {});
      this.#news = Promise.withResolvers<void>();
      const pending = [...this.#pending.values()];
      this.#pending = new Map();
      for (const one of pending) await this.#deliver(one, signal);
    }
  }

  #heard(change: Change | undefined): void {
    if (change === undefined) {
      this.#missed();
      return;
    }
    const { workspace, kind, threadId, agents } = change;
    const listeners = this.#listeners.get(workspace);
    if (listeners === undefined) return;
    if (kind === "wake") {
      for (const { caller, heard } of listeners) if (agents?.includes(caller.agent)) heard({ inbox: true });
    } else if (threadId !== undefined) this.#look({ workspace, threadId, agents: agents && new Set(agents) });
  }

  #missed(): void {
    for (const [workspace, listeners] of this.#listeners) {
      for (const { heard, watched } of listeners) {
        heard({ inbox: true });
        for (const threadId of watched()) this.#look({ workspace, threadId, agents: new Set() });
      }
    }
  }

  #look(one: Pending): void {
    const key = JSON.stringify([one.workspace, one.threadId]);
    const there = this.#pending.get(key);
    if (there === undefined) this.#pending.set(key, one);
    else there.agents = one.agents && there.agents && new Set([...there.agents, ...one.agents]);
    this.#news.resolve();
  }

  async #deliver(one: Pending, signal: AbortSignal): Promise<void> {
    const { workspace, threadId, agents } = one;
    if (!this.#listeners.has(workspace)) return;
    try {
      const reads = this.#deps.store.reads(workspace);
      const policy = await reads.policy();
      if ((await reads.thread(threadId)) === undefined) return;
      const members = new Set((await reads.participants(threadId)).map(({ agentId }) => agentId));
      for (const { caller, heard } of [...(this.#listeners.get(workspace) ?? [])]) {
        const isIn = members.has(caller.agent);
        if (!isIn && !seesAll(roleClassOf(caller, policy))) continue;
        heard({ threadId, inbox: isIn && (agents === undefined || agents.has(caller.agent)) });
      }
    } catch (err) {
      this.#deps.logger.debug({ err }, "participants cannot be read; trying again");
      await this.#deps.clock.sleep(AGAIN_MS, signal).catch(() => {});
      this.#look(one);
    }
  }
}
