import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import type { MachineTime } from "../base/machine-time.ts";
import { runTasks } from "../base/task-group.ts";
import { AgentDeliveries } from "../pane/delivery/agent-deliveries.ts";
import type { Courier } from "../pane/delivery/courier.ts";
import type { DeliveryResult } from "../pane/delivery/delivery-attempt.ts";
import type { Situation } from "../pane/delivery/delivery-policy.ts";
import { Mailbox } from "../pane/delivery/mailbox.ts";
import type { TrackedNudge } from "../pane/delivery/tracked-nudge.ts";
import { checkedNudge } from "../session/nudge-request.ts";
import type { NudgeReceipt, NudgeRequest } from "../session/types.ts";
import type { LocalAgent } from "./local-agent.ts";
import type { LocalReceipts } from "./local-receipts.ts";
import type { SessionLock } from "./session-lock.ts";
import type { TmuxSession } from "./tmux-session.ts";

export interface LocalNudgeDeps {
  readonly clock: Clock;
  readonly time: MachineTime;
  readonly logger: Logger;
  readonly session: TmuxSession;
  readonly agent: LocalAgent;
  readonly lock: SessionLock;
  readonly receipts: LocalReceipts;
  readonly newId: () => string;
}

/** How long one attempt of another process may hold the session. */
const LOCK_MS = 30_000;
/** How long to wait for the outcome of a message that is being typed when the caller's time ends. */
const FINISH_MS = 15_000;
/** A text that another program typed this shortly before our first look may not be on the screen yet. */
const RECENT_MS = 2000;
/** The people at the session's terminals are unknown here: their typing shows as a draft. */
const NOBODY = { isTyping: false, inputAt: undefined };

/**
 * Delivers one message to a local session with the same steps as the sidecar. No process stays behind to type it later:
 * a message that cannot be typed in time is withdrawn.
 */
export class LocalNudge implements Courier {
  readonly #deps: LocalNudgeDeps;
  readonly #mailbox: Mailbox;
  readonly #deliveries: AgentDeliveries;
  readonly #beganAt: number;
  #knownTyping = 0;

  /** `requestId`: the id to be sent. If it has a record, the delivery continues from there. */
  constructor(deps: LocalNudgeDeps, requestId: string) {
    const { clock, time, logger, session, agent, receipts, newId } = deps;
    const { source: output, monitor, standing, program } = agent;
    this.#deps = deps;
    this.#deliveries = new AgentDeliveries(
      {
        ...{ clock, profile: program.profile, output, monitor, standing },
        pane: () => session.pane,
        people: NOBODY,
        restartDue: () => false,
      },
      [],
    );
    this.#beganAt = clock.now();
    const known = requestId === "" ? undefined : receipts.find(requestId);
    const mailboxDeps = {
      clock,
      time,
      logger,
      keep: (record: Parameters<LocalReceipts["keep"]>[0]) => receipts.keep(record),
      clean: agent.program.clean,
      courier: this,
      changes: agent.monitor.changes,
      held: () => {},
      ended: () => {},
      newId,
    };
    this.#mailbox = new Mailbox(mailboxDeps, known === undefined ? [] : [known]);
  }

  /** @throws DomainError `invalid`, `already-exists`: as `Mailbox.send`; `unimplemented` for mode `queue`. */
  async send(request: NudgeRequest, signal: AbortSignal): Promise<NudgeReceipt> {
    const checked = checkedNudge(request, this.#deps.newId);
    if (checked.mode === "queue") throw noQueue();
    const { agent } = this.#deps;
    await agent.monitor.look(signal);
    let receipt: NudgeReceipt | undefined;
    const work = {
      run: async (stop: AbortSignal) => {
        receipt = await this.#sendAndFinish(checked, stop);
      },
    };
    await runTasks(signal, [agent, this.#mailbox, work]);
    signal.throwIfAborted();
    if (receipt === undefined) throw new Error("the mailbox ended before the message");
    return receipt;
  }

  async #sendAndFinish(request: NudgeRequest, signal: AbortSignal): Promise<NudgeReceipt> {
    const receipt = await this.#mailbox.send(request, signal);
    if (receipt.outcome !== "queued") return receipt;
    const taken = this.#mailbox.cancel(request.requestId);
    if (taken.outcome === "queued") {
      const rest = { ...request, timeoutMs: FINISH_MS };
      return await this.#mailbox.send(rest, new AbortController().signal);
    }
    if (taken.outcome !== "cancelled" || signal.aborted) return taken;
    const { state } = this.#deps.agent.monitor.report;
    const error = `the agent (${state}) could not accept it within ${request.timeoutMs} ms, and no process remains to type it later`;
    return { ...taken, outcome: "expired", error };
  }

  get leftover(): Courier["leftover"] {
    return this.#deliveries.leftover;
  }

  async situation(signal: AbortSignal): Promise<Situation> {
    const { lock, clock } = this.#deps;
    const began = clock.now();
    const usedBefore = await lock.isUsed(began);
    // The agent may have been idle for hours before this process looked for the first time.
    const now: Situation = { ...(await this.#deliveries.situation(signal)), unproven: false };
    if (!now.draft || !(usedBefore || (await lock.isUsed(began)))) return now;
    // That text is another program's message on its way, not a person's draft: wait for its end.
    return { ...now, state: "busy", composerSeen: false, draft: false, idleUnprovable: false };
  }

  async deliver(tracked: TrackedNudge, onIntent: () => void, signal: AbortSignal): Promise<DeliveryResult> {
    const { lock, agent, clock } = this.#deps;
    await using held = await lock.take(LOCK_MS, signal);
    // Another program may have typed a message in between: what we know of the agent is then older.
    const typedAt = held.lastTypedAt ?? 0;
    if (typedAt > Math.max(this.#knownTyping, this.#beganAt - RECENT_MS)) {
      this.#knownTyping = typedAt;
      agent.monitor.submitted();
      await agent.monitor.look(signal);
      return { type: "retry", reason: "another program typed in the meantime" };
    }
    const result = await this.#deliveries.deliver(tracked, onIntent, signal);
    if (result.type === "done") await held.typed(clock.now());
    return result;
  }

  async recover(tracked: TrackedNudge, signal: AbortSignal): Promise<DeliveryResult> {
    await using held = await this.#deps.lock.take(LOCK_MS, signal);
    const result = await this.#deliveries.recover(tracked, signal);
    if (result.type === "done") await held.typed(this.#deps.clock.now());
    return result;
  }
}

function noQueue(): DomainError {
  return new DomainError(
    "unimplemented",
    "a local tmux session has no queue: no process remains to type the message later",
    {
      fields: { hint: "use --mode wait-idle with a longer --timeout, or run the agent under gt-sidecar" },
    },
  );
}
