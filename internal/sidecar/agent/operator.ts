import type { AgentProfile } from "../../agents/profile.ts";
import { normalise } from "../../agents/safe-text.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Mailbox } from "../../pane/delivery/mailbox.ts";
import { keysRefused } from "../../pane/delivery/not-typed.ts";
import { answersOf, type KeyWriter, respond } from "../../pane/delivery/respond.ts";
import type { ScreenSource } from "../../pane/screen/screen-source.ts";
import { checkTypedText } from "../../session/check-typed-text.ts";
import { IdempotentCalls } from "../../session/idempotent-calls.ts";
import type { KeysRequest, RespondRequest, RespondResult } from "../../session/types.ts";
import { checkKeys } from "../../tmux/pane/keys.ts";
import type { PaneWait } from "../lifecycle/pane-access.ts";

export interface OperatorDeps {
  readonly clock: Clock;
  readonly mailbox: Pick<Mailbox, "exclusively" | "interrupt" | "interrupts">;
  readonly source: ScreenSource;
  readonly profile: AgentProfile;
  /** See `PaneAccess`. */
  readonly paneForCall: () => PaneWait<KeyWriter>;
  readonly alive: () => boolean;
  /** Called when a dialog has been answered. */
  readonly answered: () => void;
}

interface Call {
  /** Called right before the first key. */
  readonly onPress: () => void;
  readonly paneWait: PaneWait<KeyWriter>;
  /** The caller's. */
  readonly signal: AbortSignal;
}

/** Keys that stop the agent's work: they never wait. */
const OVERTAKES: ReadonlySet<string> = new Set(["C-c", "Escape"]);

/** A person's actions at the agent's terminal besides messages: presses keys and answers dialogs. */
export class Operator {
  readonly #deps: OperatorDeps;
  readonly #keys: IdempotentCalls<void>;
  readonly #answers: IdempotentCalls<RespondResult>;

  constructor(deps: OperatorDeps) {
    this.#deps = deps;
    this.#keys = new IdempotentCalls(deps.clock);
    this.#answers = new IdempotentCalls(deps.clock);
  }

  /**
   * Presses keys, or types a text as it is, into whatever is on the screen. Waits until a delivery under way has ended,
   * unless all keys are Ctrl-C or Escape, and for tmux in any case, at most 5 s. `caller`: the owner of the request id;
   * empty if callers are unknown.
   * @throws DomainError `invalid`: keys and text, neither, not a key, text over 65,536 bytes or with NUL;
   * `already-exists`: see `IdempotentCalls`; `precondition`: the agent is dead; `unavailable`: tmux is away, or the
   * agent was started again meanwhile.
   */
  async sendKeys(request: KeysRequest, signal: AbortSignal, caller = ""): Promise<void> {
    const { keys, text, requestId } = request;
    if (keys.length > 0 && text !== "") throw new DomainError("invalid", "give keys or a text, not both");
    if (text === "") checkKeys(keys);
    else checkTypedText(text);
    const paneWait = this.#deps.paneForCall();
    await this.#keys.once(caller, requestId, JSON.stringify([keys, text]), (onPress) => {
      const work = () => this.#type(request, { onPress, paneWait, signal });
      const urgent = keys.length > 0 && keys.every((key) => OVERTAKES.has(key));
      return urgent ? this.#deps.mailbox.interrupt(work) : this.#deps.mailbox.exclusively(work);
    });
  }

  /**
   * Answers a dialog: see `respond`. `caller`: as in `sendKeys`.
   * @throws DomainError like `respond` and `IdempotentCalls`; `unavailable`: tmux is away.
   */
  async respond(request: RespondRequest, signal: AbortSignal, caller = ""): Promise<RespondResult> {
    const { dialogId, choice, text, requestId } = request;
    answersOf(this.#deps.profile);
    if (dialogId === "") throw new DomainError("invalid", "no dialog_id: Status returns the id of the open dialog");
    if (text !== undefined) checkAnswer(text);
    const paneWait = this.#deps.paneForCall();
    return await this.#answers.once(caller, requestId, JSON.stringify([dialogId, choice, text]), (onPress) =>
      this.#deps.mailbox.exclusively((stop) => this.#answer(request, { onPress, paneWait, signal }, stop)),
    );
  }

  /** Once begun, an answer is completed even if the caller disconnects. */
  async #answer(request: RespondRequest, call: Call, stop: AbortSignal): Promise<RespondResult> {
    const { clock, source, profile, alive, mailbox } = this.#deps;
    const writer = await reach(call);
    const before = mailbox.interrupts;
    const deps = { clock, source, profile, alive, writer, onPress: call.onPress };
    const result = await respond(deps, request, stop).catch((err: unknown) => {
      if (stop.aborted) throw new DomainError("unavailable", "the sidecar is shutting down", { cause: err });
      throw err;
    });
    if (result.outcome === "answered") this.#deps.answered();
    if (result.outcome === "unknown" || mailbox.interrupts === before) return result;
    const value = "Ctrl-C or Escape was pressed meanwhile";
    return { outcome: "unknown", evidence: [{ source: "screen", value, ageMs: 0, confidence: "strong" }] };
  }

  async #type({ keys, text }: KeysRequest, call: Call): Promise<void> {
    const pane = await reach(call);
    if (!this.#deps.alive()) throw new DomainError("precondition", "cannot press keys: the agent is dead");
    call.onPress();
    const sent = await (text === "" ? pane.sendKeys(keys) : pane.sendText(text));
    if (sent !== "sent") throw keysRefused(sent);
  }
}

/** Resolves with the pane as soon as there is one, unless the caller disconnects first. */
async function reach({ paneWait, signal }: Call): Promise<KeyWriter> {
  throwIfCancelled(signal);
  const pane = await paneWait(signal).catch((err: unknown) => {
    throwIfCancelled(signal);
    throw err;
  });
  if (pane === undefined) throw new DomainError("unavailable", "cannot reach the agent's terminal: tmux is away");
  return pane;
}

/** Nothing is pressed for a caller that left while it waited for its turn. */
function throwIfCancelled(caller: AbortSignal): void {
  if (caller.aborted) throw new DomainError("cancelled", "the caller disconnected before its turn came");
}

/** Refuses line breaks, which would confirm, and control characters, which are keys. */
function checkAnswer(text: string): void {
  checkTypedText(text);
  const clean = normalise(text);
  if (clean.type === "unsafe" || clean.text !== text.normalize("NFC").trimEnd() || text.includes("\n")) {
    throw new DomainError("invalid", "the text of an answer is one line without control characters");
  }
}
