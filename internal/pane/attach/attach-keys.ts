import { randomUUID } from "node:crypto";
import { raceSignal, untilAborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Mailbox } from "../delivery/mailbox.ts";
import { type NotTyped, whyNotTyped } from "../delivery/not-typed.ts";
import { AttachInputParser, type KeyPiece } from "./attach-input.ts";

/** The way of typing into the pane; `internal/tmux/pane/pane.ts` implements it. */
export interface AttachPane {
  sendBytes(data: Uint8Array): Promise<"sent" | NotTyped>;
  stage(buffer: string, text: string): Promise<void>;
  paste(buffer: string): Promise<"pasted" | NotTyped>;
  dropBuffer(buffer: string): Promise<void>;
}

export interface AttachKeysDeps {
  readonly clock: Clock;
  readonly mailbox: Pick<Mailbox, "exclusively" | "interrupt">;
  /** As in `AttachDeps`. */
  readonly paneForCall: () => PaneWait;
  /** Called when keys were dropped. */
  readonly lost: (why: string) => void;
}

/** Rejects with `unavailable` if the agent has been started again meanwhile. */
type PaneWait = (signal: AbortSignal) => Promise<AttachPane | undefined>;

/** The limit of waiting input of one terminal; beyond it the terminal is not read. */
const PENDING_MAX_BYTES = 1024 * 1024;
/** The most bytes written to the pane at once. */
const WRITE_MAX_BYTES = 4096;
/** How long a key sequence that is cut, or a paste without an end, may be held. */
const CUT_KEY_MS = 50;
const CUT_PASTE_MS = 2000;
/** A pen held for longer than this belongs to a delivery: a key that stops the agent does not wait for it. */
const PEN_MS = 20;
const CTRL_C = 0x03;
const ESCAPE = 0x1b;

/**
 * Keys of one person in transit to the pane: in their order, through the mailbox's pen, so that they never mix with a
 * delivery. Ctrl-C, and Escape alone, wait for no delivery: they drop earlier keys of the same person that are still
 * held, as in a terminal.
 */
export class AttachKeys {
  readonly #deps: AttachKeysDeps;
  readonly #parser = new AttachInputParser();
  readonly #changed = new SignalBus();
  #pending: KeyPiece[] = [];
  #bytes = 0;
  #isWriting = false;
  /** The wait that the first keys started when they found tmux away: later keys wait no longer than those. */
  #paneWait: PaneWait | undefined;
  /** How many pieces have ever been put into `#pending`, and how many have been taken out. */
  #pushed = 0;
  #taken = 0;

  constructor(deps: AttachKeysDeps) {
    this.#deps = deps;
  }

  /** True while keys wait to be written. */
  get isWaiting(): boolean {
    return this.#bytes > 0;
  }

  /** Takes keys. Resolves when there is room for more. */
  async push(data: Uint8Array, signal: AbortSignal): Promise<void> {
    this.#queue(this.#parser.push(data));
    if (urgentKey(data) >= 0) void this.#overtake(this.#pushed, signal);
    this.#changed.notify();
    while (this.#bytes > PENDING_MAX_BYTES) await this.#changed.next(signal);
  }

  /** Resolves when all keys taken so far have been written or dropped. */
  async written(signal: AbortSignal): Promise<void> {
    while (this.#bytes > 0 || this.#isWriting) await this.#changed.next(signal);
  }

  /** Writes until the signal is aborted. */
  run(signal: AbortSignal): Promise<void> {
    return untilAborted(signal, () => {
      if (this.#pending.length === 0) return this.#awaitMore(signal);
      const written = this.#deps.mailbox.exclusively(() => this.#writeNext(signal));
      return raceSignal(written, signal);
    });
  }

  #queue(pieces: readonly KeyPiece[]): void {
    for (const piece of pieces) {
      this.#pending.push(piece);
      this.#bytes += lengthOf(piece);
      this.#pushed++;
    }
  }

  async #awaitMore(signal: AbortSignal): Promise<void> {
    if (!this.#parser.isWaiting) return await this.#changed.next(signal);
    const before = this.#pushed;
    const ms = this.#parser.isPasting ? CUT_PASTE_MS : CUT_KEY_MS;
    const deadline = this.#deps.clock.monotonicMs() + ms;
    await this.#changed.nextOrAfter(ms, this.#deps.clock, signal);
    const isLate = this.#deps.clock.monotonicMs() >= deadline;
    if (isLate && this.#pushed === before) this.#queue(this.#parser.flush());
  }

  /** Call it only while holding the pen. */
  async #writeNext(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return; // the person left while their keys waited: drop them
    const piece = this.#pending[0];
    if (piece === undefined) return;
    const cut = piece.type === "keys" && piece.data.length > WRITE_MAX_BYTES;
    const now: KeyPiece = cut ? { type: "keys", data: piece.data.subarray(0, WRITE_MAX_BYTES) } : piece;
    if (cut) this.#pending[0] = { type: "keys", data: piece.data.subarray(WRITE_MAX_BYTES) };
    else this.#drop(1);
    if (cut) this.#bytes -= WRITE_MAX_BYTES;
    this.#isWriting = true;
    await this.#write(signal, (pane) => (now.type === "keys" ? pane.sendBytes(now.data) : pasteInto(pane, now.text)));
    this.#isWriting = false;
    this.#changed.notify();
  }

  /**
   * Writes the urgent key in the last of the first `count` pieces at once, if a delivery keeps it from being written.
   */
  async #overtake(count: number, signal: AbortSignal): Promise<void> {
    const { clock, mailbox } = this.#deps;
    await clock.sleep(PEN_MS, signal).catch(() => {});
    const last = this.#pending[count - this.#taken - 1];
    if (signal.aborted || this.#taken >= count || last?.type !== "keys") return;
    const at = urgentKey(last.data);
    if (at < 0) return;
    this.#drop(count - this.#taken);
    const rest = last.data.subarray(at + 1);
    if (rest.length > 0) {
      this.#pending.unshift({ type: "keys", data: rest });
      this.#bytes += rest.length;
      this.#taken--;
    }
    await mailbox.interrupt(() => this.#write(signal, (pane) => pane.sendBytes(last.data.subarray(at, at + 1))));
    this.#changed.notify();
  }

  #drop(count: number): void {
    for (const piece of this.#pending.splice(0, count)) this.#bytes -= lengthOf(piece);
    this.#taken += count;
  }

  async #write(signal: AbortSignal, write: (pane: AttachPane) => Promise<"sent" | "pasted" | NotTyped>): Promise<void> {
    try {
      const pane = await this.#pane(signal);
      if (pane === "restarted") return this.#dropForRestart();
      if (pane === undefined) return this.#deps.lost("tmux is away");
      const answer = await write(pane);
      if (answer === "refused") this.#deps.lost("the agent is dead");
      if (answer === "synchronized") this.#deps.lost(whyNotTyped(answer));
    } catch (err) {
      if (signal.aborted) return;
      if (!(err instanceof DomainError)) throw err;
      this.#deps.lost("tmux is away");
    }
  }

  /** Keys that wait were typed for the earlier agent. */
  #dropForRestart(): void {
    this.#drop(this.#pending.length);
    this.#deps.lost("the agent was started again");
  }

  async #pane(signal: AbortSignal): Promise<AttachPane | "restarted" | undefined> {
    this.#paneWait ??= this.#deps.paneForCall();
    let isOver = true;
    try {
      const pane = await this.#paneWait(signal);
      isOver = pane !== undefined;
      return pane;
    } catch (err) {
      if (err instanceof DomainError && !signal.aborted) return "restarted";
      throw err;
    } finally {
      if (isOver) this.#paneWait = undefined;
    }
  }
}

/** tmux adds the brackets if the program requested them. */
async function pasteInto(pane: AttachPane, text: string): Promise<"pasted" | NotTyped> {
  const buffer = `gt-person-${randomUUID()}`;
  await pane.stage(buffer, text);
  const done = await pane.paste(buffer);
  if (done !== "pasted") await pane.dropBuffer(buffer);
  return done;
}

/** The index of the urgent key; -1 if there is none. */
function urgentKey(data: Uint8Array): number {
  return data.length === 1 && data[0] === ESCAPE ? 0 : data.lastIndexOf(CTRL_C);
}

function lengthOf(piece: KeyPiece): number {
  return piece.type === "keys" ? piece.data.length : piece.text.length;
}
