import { randomUUID } from "node:crypto";
import type { ComposerView, SafeText } from "../../agents/profile.ts";
import { normalise } from "../../agents/safe-text.ts";
import { AgentDeliveries, type AgentDeliveriesDeps } from "../../pane/delivery/agent-deliveries.ts";
import { Mailbox, type MailboxDeps, type NudgeObserver } from "../../pane/delivery/mailbox.ts";
import { RECEIPT_KEEP, RECEIPT_KEEP_MS } from "../../pane/delivery/nudge-book.ts";
import { textsLeftBy } from "../../pane/delivery/unconfirmed-text.ts";
import { UnsubmittedTexts } from "../../pane/delivery/unsubmitted-texts.ts";
import type { SessionEvents } from "../../session/events.ts";
import { restoreNudges } from "../../session/nudge-record.ts";
import type { AgentJournal } from "../journal/agent-journal.ts";
import type { Restored } from "../journal/journal-records.ts";
import type { AgentLifecycle } from "../lifecycle/agent-lifecycle.ts";
import type { AgentTerminal } from "./agent-terminal.ts";

export interface AgentMessagesDeps
  extends Pick<MailboxDeps & AgentDeliveriesDeps, "clock" | "time" | "logger" | "profile"> {
  readonly lifecycle: Pick<AgentLifecycle, "pane">;
  readonly terminal: AgentTerminal;
  readonly events: Pick<SessionEvents, "accepted" | "receipt">;
  readonly nudges: NudgeObserver;
  readonly journal: AgentJournal;
}

/**
 * The messages to the agent: the mailbox that accepts them, and their deliveries into the terminal. Continues with the
 * messages that an earlier process accepted. Does not judge the agent's state, which `AgentTerminal` does.
 */
export class AgentMessages {
  readonly mailbox: Mailbox;
  readonly deliveries: AgentDeliveries;
  /** True if an agent that has ended will be started again. */
  restartDue = true;
  readonly #deps: AgentMessagesDeps;
  readonly #standing: UnsubmittedTexts;

  constructor(deps: AgentMessagesDeps, restored: Restored) {
    const { clock, time, logger, profile, lifecycle, terminal, events, journal, nudges: observer } = deps;
    const { output, monitor, people } = terminal;
    const nudges = restoreNudges(restored.nudges, time, RECEIPT_KEEP_MS, RECEIPT_KEEP);
    const left = textsLeftBy(nudges, restored.agent?.startedAt ?? 0);
    const standing = new UnsubmittedTexts(left.map(({ text }) => text));
    this.#deps = deps;
    this.#standing = standing;
    this.deliveries = new AgentDeliveries(
      {
        ...{ clock, profile, output, monitor, people, standing },
        pane: () => lifecycle.pane,
        restartDue: () => this.restartDue,
      },
      left,
    );
    this.mailbox = new Mailbox(
      {
        ...{ clock, time, logger, courier: this.deliveries, changes: monitor.changes, newId: randomUUID },
        keep: (record) => {
          journal.keep(record);
          if (record.type === "accepted") events.accepted(record.nudge);
        },
        clean: (message) => this.clean(message),
        held: observer.held.bind(observer),
        ended: (receipt, heldBy) => {
          events.receipt(receipt);
          observer.ended(receipt, heldBy);
        },
      },
      nudges,
    );
  }

  /** See `StateMonitorDeps`. */
  isOurs(composer: ComposerView, quietMs: number): boolean {
    return this.#standing.isOurs(composer, quietMs, this.#deps.clock.monotonicMs());
  }

  /** Makes a message safe to type into this agent. */
  clean(message: string): SafeText {
    const normal = normalise(message);
    return normal.type === "safe" ? this.#deps.profile.defuse(normal.text) : normal;
  }
}
