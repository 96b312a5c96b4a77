import type { Clock } from "../../base/clock.ts";
import { DomainError, errorText } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { PermissionOutcome } from "../acp/permission-choice.ts";
import type { PermissionRequest } from "../lanes/permissions.ts";
import { requestOfDialog } from "./bridge-dialog.ts";
import { untilAnswered } from "./bridge-patience.ts";
import type { BridgeDialog, BridgeSessions } from "./bridge-sessions.ts";

export interface BridgeDialogsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sessions: BridgeSessions;
  readonly permit: (request: PermissionRequest, signal: AbortSignal) => Promise<PermissionOutcome>;
}

interface DialogsOf {
  /** The id of the bridge's session. */
  readonly id: string;
  readonly workId: string;
  /** The idempotency key of the turn's input. */
  readonly key: string;
}

/** Agents draw a dialog in steps: it is complete when it has been unchanged for this long. */
const SETTLED_MS = 500;

/** Requests permissions for an agent's dialogs, one at a time, and answers the dialogs on its screen. */
export class BridgeDialogs {
  readonly #deps: BridgeDialogsDeps;
  readonly #of: DialogsOf;
  readonly #signal: AbortSignal;
  #asking: { readonly dialog: BridgeDialog; readonly closed: AbortController } | undefined;
  #isOver = false;

  constructor(deps: BridgeDialogsDeps, of: DialogsOf, signal: AbortSignal) {
    this.#deps = deps;
    this.#of = of;
    this.#signal = signal;
  }

  /** Sets the open dialog, and drops the request for the previous one. */
  show(dialog: BridgeDialog | undefined): void {
    if (this.#asking?.dialog.id === dialog?.id || this.#isOver) return;
    this.#asking?.closed.abort(new Error("the dialog has closed"));
    if (dialog === undefined) {
      this.#asking = undefined;
      return;
    }
    const closed = new AbortController();
    this.#asking = { dialog, closed };
    const signal = AbortSignal.any([this.#signal, closed.signal]);
    this.#ask(dialog, signal).catch((err: unknown) => {
      if (signal.aborted) return;
      const fields = { action: "dialog_unanswered", session: this.#of.id, err: errorText(err) };
      this.#deps.logger.warn(fields, "a dialog could not be answered");
    });
  }

  /** Drops the open request; later dialogs are ignored. */
  close(): void {
    this.show(undefined);
    this.#isOver = true;
  }

  async #ask(dialog: BridgeDialog, signal: AbortSignal): Promise<void> {
    const { clock, permit } = this.#deps;
    await clock.sleep(SETTLED_MS, signal);
    const outcome = await permit(requestOfDialog(this.#of.workId, dialog), signal);
    signal.throwIfAborted();
    await this.#answer(dialog, outcome, signal);
  }

  /** Answers a dialog. The bridge checks it again before it presses a key, and refuses an answer to a closed dialog. */
  async #answer({ id: dialogId }: BridgeDialog, outcome: PermissionOutcome, signal: AbortSignal): Promise<void> {
    const { clock, sessions } = this.#deps;
    const { id, key } = this.#of;
    const requestId = `${key.slice(0, 32)}-${dialogId.replaceAll(/[^A-Za-z0-9]/g, "").slice(0, 64)}`;
    const call = () =>
      outcome.outcome === "selected"
        ? sessions.respond(id, { dialogId, choice: outcome.optionId, requestId }, signal)
        : sessions.press(id, ["Escape"], requestId, signal);
    try {
      await untilAnswered(clock, signal, call);
    } catch (err) {
      if (!(err instanceof DomainError) || err.kind !== "precondition") throw err;
    }
  }
}
