import { timestampMs } from "@bufbuild/protobuf/wkt";
import { EventType, type SessionEvent } from "../gen/bridge/v1/bridge_pb.ts";
import { AgentState, type Dialog } from "../gen/gastown/v1/common_pb.ts";

/** Complete lines that are kept. */
const MAX_LINES = 10_000;
/** A longer line is cut. */
const MAX_LINE_CHARS = 65_536;

/** A summary of the events of a session without a terminal: the lines of the conversation, and the agent's state. */
export class Transcript {
  #lines: string[] = [];
  #open = "";
  #state: AgentState = AgentState.UNCERTAIN;
  #since = 0;
  #printedAt = 0;
  #dialog: Dialog | undefined;
  /** Why the session ended; undefined: it has not. */
  #end: string | undefined;

  get state(): AgentState {
    return this.#state;
  }

  /** Wall clock, ms; 0: not known. */
  get stateSince(): number {
    return this.#since;
  }

  /** When the agent last printed; wall clock, ms; 0: unknown. */
  get printedAt(): number {
    return this.#printedAt;
  }

  get dialog(): Dialog | undefined {
    return this.#dialog;
  }

  get end(): string | undefined {
    return this.#end;
  }

  /** The last `count` lines. */
  lines(count: number): readonly string[] {
    const all = this.#open === "" ? this.#lines : [...this.#lines, this.#open];
    return all.slice(-count);
  }

  /** Adds an event. True: the lines have changed. */
  take(event: SessionEvent): boolean {
    const at = event.timestamp === undefined ? 0 : timestampMs(event.timestamp);
    switch (event.type) {
      case EventType.STDOUT:
      case EventType.STDERR:
        this.#printedAt = at;
        return this.#add(event.text);
      case EventType.INPUT_RECEIVED:
        return this.#addLines(event.text.split("\n").map((line, i) => (i === 0 ? `> ${line}` : `  ${line}`)));
      case EventType.BUFFER_OVERFLOW:
        return this.#addLines(["[output is missing here]"]);
      case EventType.PHASE_CHANGED:
        this.#state = event.state;
        this.#since = at;
        return false;
      case EventType.DIALOG_OPENED:
        this.#dialog = event.dialog;
        return false;
      case EventType.DIALOG_CLOSED:
        this.#dialog = undefined;
        return false;
      case EventType.SESSION_FAILED:
      case EventType.SESSION_STOPPED:
        if (event.done) this.#end = event.error || "the session ended";
        return false;
      default:
        return false;
    }
  }

  #add(text: string): boolean {
    const [first = "", ...rest] = text.split("\n");
    this.#open = (this.#open + first).slice(0, MAX_LINE_CHARS);
    const last = rest.pop();
    if (last === undefined) return true;
    this.#keep([this.#open, ...rest]);
    this.#open = last;
    return true;
  }

  #addLines(lines: readonly string[]): boolean {
    if (this.#open !== "") this.#keep([this.#open]);
    this.#open = "";
    return this.#keep(lines);
  }

  #keep(lines: readonly string[]): boolean {
    this.#lines.push(...lines);
    if (this.#lines.length > 2 * MAX_LINES) this.#lines = this.#lines.slice(-MAX_LINES);
    return true;
  }
}
