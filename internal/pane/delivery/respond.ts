import type { AgentProfile, AnswerStep, DialogChoice, DialogView, ScreenView } from "../../agents/profile.ts";
import { lettersAndDigits } from "../../agents/safe-text.ts";
import type { Screen } from "../../agents/screen.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Evidence, RespondRequest, RespondResult } from "../../session/types.ts";
import type { ScreenSource } from "../screen/screen-source.ts";
import { dialogFrom } from "../state/dialog.ts";
import { type NotTyped, whyNotTyped } from "./not-typed.ts";

/** The ways of typing; `internal/tmux/pane/pane.ts` implements them. */
export interface KeyWriter {
  sendKeys(names: readonly string[]): Promise<"sent" | NotTyped>;
  /** Types the text as it is, without paste brackets. */
  sendText(text: string): Promise<"sent" | NotTyped>;
}

export interface RespondDeps {
  readonly clock: Clock;
  readonly writer: KeyWriter;
  readonly source: ScreenSource;
  readonly profile: AgentProfile;
  /** Whether the agent's process is running. */
  readonly alive: () => boolean;
  /** Called right before the first key. */
  readonly onPress: () => void;
}

/**
 * Claude Code drops keys for up to 150 ms after it has opened a dialog: a person may have meant them for something
 * else.
 */
const FRESH_MS = 300;
/** How long a step may take to show its effect, and how long the whole answer may. */
const STEP_MS = 2000;
const END_MS = 4000;
/** While the agent redraws, a look may show half of a screen: an end counts only after it has lasted this long. */
const STANDS_MS = 80;
const ALIKE_MS = 1000;
const LOOK_MS = 10;

type Look =
  | { readonly type: "gone"; readonly busy: boolean; readonly screen: Screen }
  | { readonly type: "dialog"; readonly id: string; readonly view: DialogView };

/**
 * Answers the dialog that is on the screen: looks, presses one key, looks again. Enter is pressed only while the wanted
 * choice is selected in the dialog of the request. Nothing is pressed twice. Nothing else may write to the pane
 * meanwhile. A dialog that takes the place of this one after the last look and before the key arrives gets the key:
 * that interval lasts as long as a command to tmux and the transit of the agent's output.
 * @throws DomainError `precondition`: there is no dialog, or another than `dialogId` (the id now is the field
 * `dialog_id`, empty for none), even when that happens between the keys that only move the selection; the pane takes no
 * input. `invalid`: a choice or text that the dialog does not take. `unimplemented`: a dialog that only a person can
 * answer.
 */
export async function respond(deps: RespondDeps, request: RespondRequest, signal: AbortSignal): Promise<RespondResult> {
  return new Response(deps, request, signal).run();
}

/** The answers for this program's dialogs. @throws DomainError `unimplemented` if its dialogs are unknown */
export function answersOf({ answer }: AgentProfile): NonNullable<AgentProfile["answer"]> {
  if (answer !== undefined) return answer;
  throw new DomainError("unimplemented", "this program's dialogs are not supported: answer it in its terminal");
}

class Response {
  readonly #deps: RespondDeps;
  readonly #request: RespondRequest;
  readonly #signal: AbortSignal;
  #asked: DialogView | undefined;
  /** Id of the dialog as it was right before the last key. */
  #lastId: string;
  #pressed = false;

  constructor(deps: RespondDeps, request: RespondRequest, signal: AbortSignal) {
    this.#deps = deps;
    this.#request = request;
    this.#signal = signal;
    this.#lastId = request.dialogId;
  }

  async run(): Promise<RespondResult> {
    const { dialogId, choice, text } = this.#request;
    const answerOf = answersOf(this.#deps.profile);
    const now = await this.#lookWhenOpen();
    if (now.type === "gone" || now.id !== dialogId) throw otherDialog(now, "answer");
    this.#asked = now.view;
    const answer = answerOf(now.view, choice, text);
    if (answer.type === "unsure") return unsure(`nothing was pressed: ${answer.reason}`);
    if (answer.type === "refused") {
      const choices = now.view.choices.map((one) => one.key).join(" ");
      throw new DomainError(answer.kind, answer.reason, { fields: { dialog_id: now.id, choices } });
    }
    for (const [index, step] of answer.steps.entries()) {
      const obstacle = index === 0 ? undefined : await this.#awaitReady(step);
      if (obstacle !== undefined) return obstacle;
      if (!(await this.#press(step))) return unsure("tmux went away while the key was pressed");
    }
    const given = answer.steps.at(-1)?.on.label ?? "";
    return this.#awaitEnd(text ?? given);
  }

  /** A dialog on a screen that changed a moment ago may have just opened: wait until it is old enough. */
  async #lookWhenOpen(): Promise<Look> {
    const { clock, source } = this.#deps;
    const end = clock.monotonicMs() + FRESH_MS;
    for (;;) {
      const now = await this.#look();
      const left = Math.min(end - clock.monotonicMs(), FRESH_MS - source.quietMs());
      if (now.type === "gone" || now.id !== this.#request.dialogId || left <= 0) return now;
      await source.changed(left, this.#signal);
    }
  }

  async #look(): Promise<Look> {
    const { source, profile } = this.#deps;
    const screen = await source.current(this.#signal);
    const view: ScreenView = profile.view(screen);
    if (view.dialog === undefined) return { type: "gone", busy: view.busy !== undefined, screen };
    return { type: "dialog", id: dialogFrom(view.dialog, 0).id, view: view.dialog };
  }

  /**
   * Undefined once the step may be taken. Nothing has been decided so far, so a dialog that went away was not answered.
   */
  async #awaitReady(step: AnswerStep): Promise<RespondResult | undefined> {
    const { clock, source } = this.#deps;
    const end = clock.monotonicMs() + STEP_MS;
    let away: { readonly key: string; readonly since: number } | undefined;
    for (;;) {
      const now = await this.#look();
      if (now.type === "dialog" && this.#fits(now, step)) {
        this.#lastId = now.id;
        return undefined;
      }
      const key = now.type === "gone" ? "" : this.#isSame(now, step) ? "same" : now.id;
      if (key !== away?.key) away = { key, since: clock.monotonicMs() };
      if (key !== "same" && clock.monotonicMs() - away.since >= STANDS_MS) throw otherDialog(now, "finish answering");
      if (clock.monotonicMs() >= end) return unsure("the selection did not follow the keys; nothing was chosen");
      await source.changed(LOOK_MS, this.#signal);
    }
  }

  #fits(now: Look & { readonly type: "dialog" }, step: AnswerStep): boolean {
    const selected = now.view.choices.filter((one) => one.selected);
    const [only] = selected;
    if (now.view.unclear !== undefined || selected.length !== 1 || only?.key !== step.on.key) return false;
    // Text typed on a choice replaces its label.
    if (only.label !== step.on.label && !isTyping(step)) return false;
    if (!this.#isSame(now, step)) return false;
    if (step.after?.type === "field") return now.id !== this.#request.dialogId;
    return step.after === undefined || shows(now.view, step.after.text);
  }

  /** In some dialogs the text beside the list follows the selection, and a typed text is in the dialog. */
  #isSame(now: Look & { readonly type: "dialog" }, step: AnswerStep): boolean {
    if (now.id === this.#request.dialogId) return true;
    const { view } = now;
    const asked = this.#asked;
    if (asked === undefined || view.kind !== asked.kind || view.title !== asked.title) return false;
    const typing = isTyping(step);
    const loose = typing || view.kind === "theme" || view.kind === "picker";
    const same = (key: string, label: string, i: number) =>
      asked.choices[i]?.key === key && (asked.choices[i]?.label === label || (typing && key === step.on.key));
    return (
      loose && view.choices.length === asked.choices.length && view.choices.every((c, i) => same(c.key, c.label, i))
    );
  }

  /** False if it is not known whether it was pressed. */
  async #press({ press }: AnswerStep): Promise<boolean> {
    this.#signal.throwIfAborted();
    if (!this.#pressed) this.#deps.onPress();
    const first = !this.#pressed;
    this.#pressed = true;
    let sent: "sent" | NotTyped;
    try {
      sent = await this.#send(press);
    } catch (err) {
      if (!(err instanceof DomainError) || (err.kind !== "unavailable" && err.kind !== "precondition")) throw err;
      return false;
    }
    if (sent === "sent") return true;
    if (!first) return false;
    throw new DomainError("precondition", `cannot answer the dialog: ${whyNotTyped(sent)}`, {
      fields: { dialog_id: this.#request.dialogId },
    });
  }

  /** Enter as a literal CR: some releases translate the named key by the keyboard mode that the program asked for. */
  #send(press: AnswerStep["press"]): Promise<"sent" | NotTyped> {
    const { writer } = this.#deps;
    if (press.type === "text") return writer.sendText(press.text);
    return press.name === "Enter" ? writer.sendText("\r") : writer.sendKeys([press.name]);
  }

  async #awaitEnd(given: string): Promise<RespondResult> {
    const { clock, source, alive } = this.#deps;
    const end = clock.monotonicMs() + END_MS;
    let stands: { readonly key: string; readonly since: number } | undefined;
    for (;;) {
      const now = await this.#look();
      const key = now.type === "gone" ? "" : now.id;
      if (key !== stands?.key) stands = { key, since: clock.monotonicMs() };
      const stood = clock.monotonicMs() - stands.since;
      if (now.type === "gone" && stood >= STANDS_MS) return this.#gone(now, given);
      if (!alive()) return { outcome: "answered", evidence: [seen("process", "the agent ended", "strong")] };
      const otherAfterMs = now.type === "dialog" ? this.#otherAfterMs(now) : undefined;
      if (otherAfterMs !== undefined && stood >= otherAfterMs) {
        return { outcome: "changed", evidence: [seen("screen", "another dialog is open", "strong")] };
      }
      if (clock.monotonicMs() >= end) return unsure("the key was pressed, but the dialog is still there");
      await source.changed(LOOK_MS, this.#signal);
    }
  }

  /** Answered, unless the program shows that it took another choice. */
  #gone({ busy, screen }: Look & { readonly type: "gone" }, given: string): RespondResult {
    const shown = this.#asked && this.#deps.profile.shownAnswer?.(screen, this.#asked, given);
    if (shown === "other") return unsure("the dialog has closed, but the agent shows that another choice was taken");
    const taken = shown === "named" ? [seen("screen", "the agent shows the choice as taken", "strong")] : [];
    const working = busy ? [seen("screen", "the agent is working", "weak")] : [];
    return { outcome: "answered", evidence: [seen("screen", "the dialog has closed", "strong"), ...taken, ...working] };
  }

  /**
   * How long another dialog must last to count; undefined for the one that was answered. A dialog may mark the given
   * choice before it goes, and a busy agent leaves parts of it: one that looks like a part must last longer.
   */
  #otherAfterMs(now: Look & { readonly type: "dialog" }): number | undefined {
    if (now.id === this.#request.dialogId || now.id === this.#lastId) return undefined;
    return this.#asked !== undefined && isPartOf(this.#asked, now.view) ? ALIKE_MS : STANDS_MS;
  }
}

/** Whether a dialog has the title of `whole`, or none but choices of it. */
function isPartOf(whole: DialogView, { kind, title, choices }: DialogView): boolean {
  const isOfWhole = (one: DialogChoice) =>
    whole.choices.some(({ key, label }) => key === one.key && label === one.label);
  return kind === whole.kind && (title === whole.title || choices.every(isOfWhole));
}

const isTyping = (step: AnswerStep): boolean => step.press.type === "text" || step.after !== undefined;

/** Wraps and borders do not count. */
function shows({ text }: DialogView, typed: string): boolean {
  const wanted = lettersAndDigits(typed);
  if (wanted === "") return text.includes(typed.trim());
  return lettersAndDigits(text).includes(wanted);
}

function unsure(why: string): RespondResult {
  return { outcome: "unknown", evidence: [seen("screen", why, "strong")] };
}

function seen(source: Evidence["source"], value: string, confidence: Evidence["confidence"]): Evidence {
  return { source, value, ageMs: 0, confidence };
}

function otherDialog(now: Look, what: string): DomainError {
  const why = now.type === "gone" ? "no dialog is open" : "another dialog is open";
  return new DomainError("precondition", `cannot ${what} the dialog: ${why}`, {
    fields: { dialog_id: now.type === "gone" ? "" : now.id },
  });
}
