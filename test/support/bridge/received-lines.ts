import { EventType, type SessionEvent } from "../../../internal/gen/bridge/v1/bridge_pb.ts";

/** One subscriber's record of a session whose agent prints `line 1 …`, `line 2 …`: by number and by text. */
export class ReceivedLines {
  readonly #name: string;
  readonly faults: string[] = [];
  /** How many numbers came again. */
  repeats = 0;
  /** How many numbers came for the first time, gaps excluded. */
  events = 0;
  gaps = 0;
  lines = 0;
  readonly types = new Set<EventType>();
  isDone = false;
  #epoch = "";
  #next: bigint | undefined;
  /** The next line; undefined after a gap, which may contain lines. */
  #line: number | undefined = 1;

  constructor(name: string) {
    this.#name = name;
  }

  take({
    seq,
    gap,
    epoch,
    type,
    text,
    done,
  }: Pick<SessionEvent, "seq" | "gap" | "epoch" | "type" | "text" | "done">): void {
    this.types.add(type);
    this.isDone ||= done;
    if (this.#epoch !== "" && epoch !== this.#epoch) this.faults.push(`epoch ${epoch} after ${this.#epoch}`);
    this.#epoch = epoch;
    if (this.#next !== undefined && seq < this.#next) return void this.repeats++;
    const first = gap?.first ?? seq;
    if (this.#next !== undefined && first > this.#next) this.faults.push(`${this.#next} is missing before ${first}`);
    this.#next = seq + 1n;
    if (gap !== undefined) {
      this.gaps++;
      this.#line = undefined;
      return;
    }
    this.events++;
    if (type === EventType.STDOUT) this.#takeLines(text);
  }

  /** Number of the last event. */
  get last(): bigint {
    return this.#next === undefined ? 0n : this.#next - 1n;
  }

  toString(): string {
    const { events, repeats, gaps, lines } = this;
    return `${this.#name}: ${events} events, ${repeats} again, ${gaps} gaps, ${lines} lines, ${this.faults.length} faults`;
  }

  #takeLines(text: string): void {
    for (const [, digits] of text.matchAll(/^line (\d+) of the printer$/gm)) {
      const line = Number(digits);
      this.lines++;
      if (this.#line !== undefined && line !== this.#line) this.faults.push(`line ${line} instead of ${this.#line}`);
      this.#line = line + 1;
    }
  }
}
