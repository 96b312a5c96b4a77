import { raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { AttachHello, AttachInput, AttachOutput } from "../../session/attach.ts";
import type { Mailbox } from "../delivery/mailbox.ts";
import type { OutputStream, Turning } from "../screen/output.ts";
import { FIRST_SCREEN_MS } from "../screen/peek.ts";
import { endsLine, isTyping } from "./attach-input.ts";
import { AttachKeys, type AttachPane } from "./attach-keys.ts";
import type { People, Person } from "./attach-people.ts";

export interface AttachDeps {
  readonly clock: Clock;
  readonly people: People;
  readonly output: OutputStream;
  readonly mailbox: Pick<Mailbox, "exclusively" | "interrupt">;
  /** Waits for the pane, at most 5 s from the first call on; undefined: tmux was away all that time. */
  readonly paneForCall: () => (signal: AbortSignal) => Promise<AttachPane | undefined>;
  /** The reason, set once nothing more will come. */
  readonly ended: () => string | undefined;
  /** The exit code of the agent that has ended. */
  readonly exitCode: () => number;
}

/** The most bytes one output carries. */
const CHUNK_BYTES = 32 * 1024;
/** A terminal that is further behind than this gets the current screen instead of the missed output. */
const BEHIND_BYTES = 256n * 1024n;
/** The notice about skipped output is sent at most this often. */
const BEHIND_EVERY_MS = 10_000;
const LOST_EVERY_MS = 5000;

/** Sets a terminal in any state to a blank screen with everything off: each redraw begins with it. */
const BLANK =
  "\x1b[?1049l\x1b[!p\x1b[?1l\x1b>\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l" +
  "\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[0 q\x1b[r\x1b(B\x0f\x1b[m\x1b[H\x1b[2J";

/**
 * Connects one person's terminal to the agent's: yields the screen as it is, then every byte as it comes, while the
 * person's keys go to the pane in order with deliveries (see `AttachKeys`). Ends with an `end` when the person leaves
 * or the agent has ended for good.
 * @throws DomainError `invalid` for a size out of bounds, `denied` for keys of a person who only watches
 */
export async function* attach(
  deps: AttachDeps,
  hello: AttachHello,
  inputs: AsyncIterable<AttachInput>,
  signal: AbortSignal,
): AsyncGenerator<AttachOutput, void, undefined> {
  using person = deps.people.enter(hello);
  const session = new Session(deps, person);
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const typing = session.listen(inputs, either);
  try {
    yield* session.outputs(either);
  } finally {
    if (!session.hasLeft) deps.people.lost(person);
    stop.abort(new DomainError("cancelled", "the attachment has ended"));
    await typing;
  }
}

class Session {
  hasLeft = false;
  readonly #deps: AttachDeps;
  readonly #person: Person;
  readonly #keys: AttachKeys;
  readonly #woken = new SignalBus();
  #failure: unknown;
  #offset: bigint | undefined;
  #size = "";
  /** True if the screen that was sent last must be sent again once the screen is known to the byte. */
  #isRough = false;
  /** The last change of the screen that no byte made, as far as it has been sent. */
  #turning: Turning | undefined;
  #behindAt = Number.NEGATIVE_INFINITY;
  #lostAt = Number.NEGATIVE_INFINITY;

  constructor(deps: AttachDeps, person: Person) {
    this.#deps = deps;
    this.#person = person;
    const { clock, mailbox, paneForCall } = deps;
    this.#keys = new AttachKeys({ clock, mailbox, paneForCall, lost: (why) => this.#lost(why) });
    person.hasKeysWaiting = () => this.#keys.isWaiting;
  }

  /**
   * Handles the person's input until they leave or the signal is aborted. Never fails: `outputs` throws the failure.
   */
  async listen(inputs: AsyncIterable<AttachInput>, signal: AbortSignal): Promise<void> {
    const writing = this.#keys.run(signal);
    const iterator = inputs[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await raceSignal(iterator.next(), signal);
        if (done) break;
        await this.#hear(value, signal);
      }
      await this.#keys.written(signal);
      this.hasLeft = true;
    } catch (err) {
      if (!signal.aborted) this.#failure = err;
    }
    this.#woken.notify();
    await writing;
  }

  async *outputs(signal: AbortSignal): AsyncGenerator<AttachOutput, void, undefined> {
    const { output, clock } = this.#deps;
    await raceSignal(output.known(FIRST_SCREEN_MS), signal);
    const stops = [output.bytes, output.screens, this.#person.told].map((bus) =>
      bus.listen(() => this.#woken.notify()),
    );
    try {
      for (;;) {
        if (this.#failure !== undefined) throw this.#failure;
        for (const text of this.#person.takeNotices()) yield { type: "notice", text };
        const next = this.#next();
        if (next !== undefined) yield next;
        else if (this.hasLeft) return yield { type: "end", reason: "detached", exitCode: 0 };
        else if (this.#deps.ended() !== undefined) return yield this.#end();
        else await this.#woken.nextOrAfter(1000, clock, signal);
      }
    } finally {
      for (const stop of stops) stop();
    }
  }

  async #hear(input: AttachInput, signal: AbortSignal): Promise<void> {
    const { people } = this.#deps;
    if (input.type === "resize") return people.resized(this.#person, input);
    if (this.#person.readOnly) throw new DomainError("denied", "cannot type: this attachment is read-only");
    if (isTyping(input.data)) {
      if (endsLine(input.data)) people.finishedTyping(this.#person);
      else people.typed(this.#person);
    }
    await this.#keys.push(input.data, signal);
  }

  /** The next output for the terminal; undefined when it is up to date. */
  #next(): AttachOutput | undefined {
    const { output } = this.#deps;
    if (this.#offset !== undefined && this.#isBehind(this.#offset)) this.#offset = undefined;
    const { cols, rows } = output.emulator;
    const size = `${cols}x${rows}`;
    if (size !== this.#size) {
      this.#size = size;
      this.#offset = undefined; // the new size has moved the content of the screen
      return { type: "resized", cols, rows };
    }
    if (this.#isRough && output.isExact) this.#offset = undefined;
    const data = this.#offset === undefined ? undefined : this.#read(this.#offset);
    if (data === undefined) return this.#redraw();
    return data.length === 0 ? undefined : { type: "data", data };
  }

  /** Reads the bytes at `offset`. Undefined: they are no longer held, or the screen changed there without a byte. */
  #read(offset: bigint): Uint8Array | undefined {
    const { output } = this.#deps;
    const turning = output.turningFrom(offset);
    if (turning !== undefined && turning !== this.#turning && turning.offset === offset) return undefined;
    const room = turning === undefined || turning === this.#turning ? CHUNK_BYTES : Number(turning.offset - offset);
    const data = output.ring.read(offset, Math.min(room, CHUNK_BYTES));
    if (data !== undefined) this.#offset = offset + BigInt(data.length);
    return data;
  }

  #isBehind(offset: bigint): boolean {
    const { output, clock } = this.#deps;
    if (output.drawnTo - offset <= BEHIND_BYTES) return false;
    if (clock.monotonicMs() - this.#behindAt >= BEHIND_EVERY_MS) {
      this.#person.tell("output came faster than this terminal reads it: parts were skipped");
      this.#behindAt = clock.monotonicMs();
    }
    return true;
  }

  /** The screen as it is; undefined while the bytes that follow it are not held, as in a flood. */
  #redraw(): AttachOutput | undefined {
    const { output } = this.#deps;
    if (output.ring.read(output.drawnTo, 1) === undefined) return undefined;
    this.#offset = output.drawnTo;
    this.#turning = output.turningFrom(this.#offset);
    this.#isRough = !output.isExact;
    return { type: "data", data: Buffer.from(BLANK + output.emulator.redraw()) };
  }

  #end(): AttachOutput {
    return { type: "end", reason: this.#deps.ended() ?? "", exitCode: this.#deps.exitCode() };
  }

  #lost(why: string): void {
    const { clock } = this.#deps;
    if (clock.monotonicMs() - this.#lostAt < LOST_EVERY_MS) return;
    this.#lostAt = clock.monotonicMs();
    this.#person.tell(`keys are dropped: ${why}`);
  }
}
