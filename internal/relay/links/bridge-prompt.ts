import { raceSignal } from "../../base/abort.ts";
import { DomainError } from "../../base/errors.ts";
import { ANSWER_TOO_LARGE, cancellation, failure, type ResultPart } from "../acp/result-parts.ts";
import { AgentLost, NotTaken } from "../lanes/agent-lost.ts";
import type { Progress } from "../lanes/progress.ts";
import { BridgeDialogs, type BridgeDialogsDeps } from "./bridge-dialogs.ts";
import { untilAnswered } from "./bridge-patience.ts";
import type { BridgeEvent } from "./bridge-sessions.ts";
import { afterAnswer, afterEvent, type BridgeTurn, beginTurn, type EventPlace, type TurnEnd } from "./bridge-turn.ts";

export interface BridgePromptDeps extends BridgeDialogsDeps {
  readonly progress: Progress;
  /** Called with each event. */
  readonly onEvent: () => void;
}

export interface BridgePromptOptions {
  /** The id of the bridge's session. */
  readonly id: string;
  readonly place: EventPlace;
  readonly workId: string;
  readonly key: string;
  readonly text: string;
  /** The longest answer, in bytes. */
  readonly maxBytes: number;
  /** True: the input may have been sent before. */
  readonly isAgain: boolean;
  /** True: the agent is in a terminal. False: it is over stdio, and may have read the text even if it has died. */
  readonly isTerminal: boolean;
}

const NOT_RUNNING_MS = 500;
const DIALOG_MS = 500;
const ESCAPE_MS = 2000;
const MOST_ESCAPES = 3;

/** One prompt to an agent behind a bridge, from its input to the end of its turn. */
export class BridgePrompt {
  readonly #deps: BridgePromptDeps;
  readonly #options: BridgePromptOptions;
  readonly #over = new AbortController();
  /** Aborted when the caller no longer waits for the answer. */
  readonly #asked: AbortSignal;
  readonly #signal: AbortSignal;
  readonly #dialogs: BridgeDialogs;
  #turn: BridgeTurn;
  /** Permissions are requested for dialogs from this event on: earlier dialogs may have closed. */
  #head: number;
  #refusal: ResultPart | undefined;
  #isCancelled = false;

  constructor(deps: BridgePromptDeps, options: BridgePromptOptions, signal: AbortSignal) {
    this.#deps = deps;
    this.#options = options;
    this.#asked = signal;
    this.#signal = AbortSignal.any([signal, this.#over.signal]);
    this.#dialogs = new BridgeDialogs(deps, options, signal);
    this.#turn = beginTurn(options.place, options.key, options.maxBytes);
    this.#head = options.place.seq;
  }

  /** The place up to which the session's log has been read. */
  get place(): EventPlace {
    return this.#turn;
  }

  /**
   * Sends the input and follows the agent to the end of its turn.
   * @throws AgentLost, NotTaken, or the signal's reason
   */
  async run(): Promise<readonly ResultPart[]> {
    try {
      if (this.#options.isAgain) await this.#check();
      const following = this.#follow();
      following.catch(() => {});
      const sent = this.#send().then(() => following);
      sent.catch(() => {});
      await raceSignal(Promise.race([following, sent]), this.#asked);
      return this.#refusal === undefined ? await this.#parts(this.#turn.end) : [this.#refusal];
    } finally {
      this.#dialogs.close();
      this.#over.abort(new Error("the turn is over"));
    }
  }

  /** Withdraws the input, or asks the agent to end its turn. */
  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#dialogs.close();
    this.#interrupt().catch(() => {}); // after a grace period the caller ends a turn that cannot be interrupted
  }

  /** Checks that the session and its log are those that may have received the input before. */
  async #check(): Promise<void> {
    const { clock, sessions } = this.#deps;
    const { id, place } = this.#options;
    const facts = await untilAnswered(clock, this.#signal, () => sessions.get(id, this.#signal));
    if (facts === undefined || (facts.epoch !== "" && facts.epoch !== place.epoch)) {
      throw new AgentLost("its session no longer exists at the bridge");
    }
    this.#head = facts.lastSeq;
  }

  async #send(): Promise<void> {
    const { clock, sessions } = this.#deps;
    const { id, text, key } = this.#options;
    for (;;) {
      try {
        const send = () => sessions.send(id, text, key, this.#signal);
        const answer = await untilAnswered(clock, this.#signal, send);
        this.#turn = afterAnswer(this.#turn, answer);
        if (this.#turn.end !== undefined) this.#over.abort(new Error("the turn is over"));
        return;
      } catch (err) {
        if (this.#turn.end !== undefined) return;
        if (this.#signal.aborted || !(err instanceof DomainError)) throw err;
        if (err.kind === "invalid") return this.#refuse(failure("too_large", err.message));
        // `precondition`: the agent is starting or has ended. The log shows which, and whether it has already received
        // the input.
        if (err.kind !== "precondition") throw new AgentLost(err.message);
      }
      await clock.sleep(NOT_RUNNING_MS, this.#signal).catch(() => {});
    }
  }

  #refuse(part: ResultPart): void {
    this.#refusal = part;
    this.#over.abort(new Error("the bridge refuses the input"));
  }

  async #follow(): Promise<void> {
    const { id, place } = this.#options;
    try {
      for await (const event of this.#deps.sessions.events(id, place, this.#signal)) {
        this.#came(event);
        if (this.#turn.end !== undefined) return;
      }
    } catch (err) {
      if (this.#turn.end !== undefined || this.#refusal !== undefined) return;
      throw err instanceof DomainError && !this.#signal.aborted ? new AgentLost(err.message) : err;
    }
    throw new AgentLost("the session's events have ended");
  }

  #came(event: BridgeEvent): void {
    const { progress, onEvent } = this.#deps;
    onEvent();
    this.#turn = afterEvent(this.#turn, event);
    const { isReceived, busy, dialog } = this.#turn;
    if (event.type === "output" && isReceived && busy !== "earlier") {
      const content = { type: "text", text: event.text };
      progress.send(this.#options.workId, { sessionUpdate: "agent_message_chunk", content });
    }
    if (event.seq < this.#head || this.#isCancelled) return;
    if (event.type === "gap") void this.#look();
    else this.#dialogs.show(dialog);
  }

  /** Asks the bridge for the open dialog, whose event may be missing. */
  async #look(): Promise<void> {
    const { id } = this.#options;
    await this.#deps.sessions.dialog(id, this.#signal).then(
      (dialog) => this.#dialogs.show(dialog),
      () => {},
    );
  }

  async #parts(end: TurnEnd | undefined): Promise<readonly ResultPart[]> {
    if (end === undefined) throw new AgentLost("the session's events have ended");
    switch (end.type) {
      case "over":
        return [this.#isCancelled ? cancellation("agent") : this.#success()];
      case "withdrawn":
        return [cancellation(this.#isCancelled ? "agent" : "bridge")];
      case "unsafe":
        return [{ type: "result.failure", payload: { error: end.error || "the text is unsafe", reason: "unsafe" } }];
      case "uncertain":
        throw new AgentLost(end.why);
      case "not-taken": {
        const { outcome, error } = end;
        if (outcome === "agent-dead" && !this.#options.isTerminal) throw new AgentLost(error);
        if (this.#isCancelled) return [cancellation("agent")];
        if (outcome === "blocked-by-dialog") await this.#untilNoDialog();
        throw new NotTaken(error || outcome);
      }
    }
  }

  #success(): ResultPart {
    const { text, bytes, maxBytes, gaps } = this.#turn;
    if (bytes > maxBytes) return ANSWER_TOO_LARGE;
    const missing = gaps.length > 0 && { gaps: gaps.map(({ first, to, reason }) => ({ first, to, reason })) };
    return { type: "result.success", payload: { text: text.trimEnd(), stop_reason: "end_turn", ...missing } };
  }

  /** Waits until a dialog that was open before the prompt has closed. */
  async #untilNoDialog(): Promise<void> {
    const { clock, sessions, onEvent } = this.#deps;
    const { id } = this.#options;
    const signal = this.#asked;
    for (;;) {
      const dialog = await untilAnswered(clock, signal, () => sessions.dialog(id, signal));
      onEvent();
      this.#dialogs.show(dialog);
      if (dialog === undefined || this.#isCancelled) return;
      await clock.sleep(DIALOG_MS, signal);
    }
  }

  async #interrupt(): Promise<void> {
    const { clock, sessions } = this.#deps;
    const { id, key } = this.#options;
    const signal = this.#signal;
    if (!this.#turn.isSubmitted) await sessions.takeBack(id, key, signal).catch(() => {});
    for (let times = 1; times <= MOST_ESCAPES; ) {
      signal.throwIfAborted();
      if (this.#turn.isSubmitted && this.#turn.phase !== "idle") {
        const requestId = `${key}-${times++}`;
        const press = () => sessions.press(id, ["Escape"], requestId, signal);
        await untilAnswered(clock, signal, press).catch(() => {}); // the next attempt may succeed
      }
      await clock.sleep(ESCAPE_MS, signal);
    }
  }
}
