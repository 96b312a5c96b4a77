import type { Clock } from "../base/clock.ts";
import { type Redactor, RedactStream } from "../base/redact.ts";
import { plainText } from "../base/sanitise.ts";
import { SignalBus } from "../base/signal-bus.ts";
import type { Task } from "../base/task-group.ts";
import { EVENT_TEXT_CHARS } from "./event-types.ts";

/** Text is emitted when no more has come for this long, so that a secret in two parts is seen as a whole … */
const QUIET_MS = 100;
/** … or when it has waited this long. */
const WAIT_MS = 500;

/** The batch size of the search for secrets: each batch is searched together with the text held back before it. */
const LOT_CHARS = 32 * 1024;

/** Collects the text of final lines into events of bounded size, without secrets, wherever the text is cut. */
export class OutputText implements Task {
  readonly #clock: Clock;
  readonly #redact: RedactStream;
  readonly #emit: (text: string) => void;
  readonly #woken = new SignalBus();
  #raw = "";
  #safe = "";
  /** When the oldest waiting text arrived, and the latest; monotonic, ms. */
  #since: number | undefined;
  #lastAt = 0;

  constructor(deps: { readonly clock: Clock; readonly redactor: Redactor; readonly emit: (text: string) => void }) {
    this.#clock = deps.clock;
    this.#redact = new RedactStream(deps.redactor);
    this.#emit = deps.emit;
  }

  push(text: string): void {
    this.#raw += text;
    this.#lastAt = this.#clock.monotonicMs();
    if (this.#since === undefined) {
      this.#since = this.#lastAt;
      this.#woken.notify();
    }
    if (this.#raw.length < LOT_CHARS) return;
    this.#take(this.#redact.push(plainText(this.#raw)));
    this.#raw = "";
  }

  /** Emits all text now, before an event that must follow it in the log. */
  flush(): void {
    if (this.#since === undefined) return;
    this.#since = undefined;
    this.#take(this.#redact.push(plainText(this.#raw)) + this.#redact.flush());
    this.#raw = "";
    if (this.#safe !== "") this.#emit(this.#safe);
    this.#safe = "";
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#since === undefined) await this.#woken.next(signal).catch(() => {});
      else await this.#wait(this.#since, signal);
    }
    this.flush();
  }

  async #wait(since: number, signal: AbortSignal): Promise<void> {
    const at = Math.min(this.#lastAt + QUIET_MS, since + WAIT_MS);
    const left = at - this.#clock.monotonicMs();
    if (left > 0) await this.#clock.sleep(left, signal).catch(() => {});
    else this.flush();
  }

  #take(text: string): void {
    this.#safe += text;
    while (this.#safe.length >= EVENT_TEXT_CHARS) {
      const end = cutOf(this.#safe);
      this.#emit(this.#safe.slice(0, end));
      this.#safe = this.#safe.slice(end);
    }
  }
}

/** The end of the last whole line, otherwise a place that splits no character. */
function cutOf(text: string): number {
  const lines = text.lastIndexOf("\n", EVENT_TEXT_CHARS - 1) + 1;
  if (lines > 0) return lines;
  const code = text.charCodeAt(EVENT_TEXT_CHARS);
  return code >= 0xdc00 && code <= 0xdfff ? EVENT_TEXT_CHARS - 1 : EVENT_TEXT_CHARS;
}
