import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import type { Changes } from "../domain/changes.ts";
import { isOverdue, OPERATORS } from "../domain/escalation.ts";
import { eraseBefore } from "../domain/retention.ts";
import type { Store, WorkspaceThread } from "../domain/store.ts";
import { appendSystemMessage } from "./system-messages.ts";
import { tellPeople } from "./tell-people.ts";

export interface UpkeepDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: Store;
  readonly changes: Changes;
}

const LOOK_MS = 2000;
/** Rounds from one erasure of old messages to the next. */
const ERASE_EVERY = 15;
const AT_ONCE = 100;
const BATCH = 500;

/**
 * Does the work that falls due as time passes: passes escalations that no one has acknowledged to the operators,
 * informs people of wakes that cannot be typed, and erases messages of closed threads after the workspace's retention.
 * Any number of processes may run it.
 */
export class Upkeep implements Task {
  readonly #deps: UpkeepDeps;

  constructor(deps: UpkeepDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    for (let turn = 0; !signal.aborted; turn++) {
      try {
        await tellPeople(this.#deps);
        await this.#raiseOverdue();
        if (turn % ERASE_EVERY === 0) await this.#eraseOld(signal);
      } catch (err) {
        logger.debug({ err }, "due work cannot be read");
      }
      await clock.sleep(LOOK_MS, signal).catch(() => {});
    }
  }

  async #raiseOverdue(): Promise<void> {
    const { store, changes, logger } = this.#deps;
    for (const { workspace, escalationId, threadId } of await store.overdueEscalations(AT_ONCE)) {
      const isRaised = await store.write(workspace, async (tx) => {
        await tx.lockThread(threadId);
        const found = await tx.escalation(escalationId);
        if (found === undefined || !isOverdue(found, await tx.now())) return false;
        await tx.raiseEscalation(escalationId, OPERATORS);
        const facts = { escalation_id: escalationId, from: found.owner, owner: OPERATORS };
        const text = `not acknowledged by ${found.owner}: escalated to ${OPERATORS}`;
        await appendSystemMessage(tx, threadId, "escalated", text, facts);
        await tx.audit({ ...SYSTEM, action: "escalation_overdue", threadId, detail: facts });
        return true;
      });
      if (!isRaised) continue;
      logger.info({ workspace, escalation: escalationId, thread: threadId }, "an escalation is overdue");
      changes.publish({ workspace, kind: "escalation", threadId });
    }
  }

  async #eraseOld(signal: AbortSignal): Promise<void> {
    for (const one of await this.#deps.store.closedThreads(AT_ONCE)) {
      while (!signal.aborted && (await this.#eraseSome(one)) === BATCH);
    }
  }

  async #eraseSome({ workspace, threadId }: WorkspaceThread): Promise<number> {
    const { store, logger } = this.#deps;
    const erased = await store.write(workspace, async (tx) => {
      const locked = await tx.lockThread(threadId);
      const { retention_days: days } = await tx.policy();
      const before = locked && eraseBefore(locked.thread, days, locked.now);
      if (before === undefined) return 0;
      const count = await tx.eraseMessages(threadId, before, BATCH);
      if (count === 0) return 0;
      const detail = { messages: count, before: new Date(before).toISOString() };
      await tx.audit({ ...SYSTEM, action: "erased", threadId, detail });
      return count;
    });
    if (erased > 0) logger.info({ workspace, thread: threadId, messages: erased }, "messages were erased");
    return erased;
  }
}

const SYSTEM = { actor: "system", actorSession: "", correlationId: "" };
