import { untilAborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { plainText } from "../../base/sanitise.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Task } from "../../base/task-group.ts";
import { ATTACH_COLS, ATTACH_ROWS, type AttachHello } from "../../session/attach.ts";

interface Size {
  readonly cols: number;
  readonly rows: number;
}

export interface PeopleDeps {
  readonly clock: Clock;
  /** The window's present size. */
  readonly size: () => Size;
  /** Gives the window that size. @throws DomainError `unavailable` while tmux is away */
  readonly resize: (size: Size, signal: AbortSignal) => Promise<void>;
  /**
   * When a person last pressed a key in a tmux client on this pane; wall clock, ms. Undefined: no one has.
   * @throws DomainError `unavailable` while tmux is away
   */
  readonly typedInTmux?: () => Promise<number | undefined>;
}

export interface PeopleOptions {
  /** The window's size when no person's size applies. */
  readonly own: Size;
}

/** A person counts as typing for this long after a key. */
const TYPING_MS = 2000;
/** A person whose connection broke may be back soon, as may all of them when this process has just begun. */
const RETURN_MS = 5000;
const LOOK_MS = 1000;
/** The time between two sizes: dragging a window's edge produces many. */
const RESIZE_PAUSE_MS = 40;
const RETRY_MS = 200;
const NAME_MAX = 64;

/** One attached terminal. */
export class Person implements Disposable {
  readonly name: string;
  readonly readOnly: boolean;
  /** Notified when there are notices: see `takeNotices`. */
  readonly told = new SignalBus();
  size: Size;
  typedAt = Number.NEGATIVE_INFINITY;
  /** True while keys of this person are still in transit. */
  hasKeysWaiting: () => boolean = () => false;
  readonly #leave: (person: Person) => void;
  #notices: string[] = [];

  constructor(hello: AttachHello, leave: (person: Person) => void) {
    this.name = cleanName(hello.name);
    this.readOnly = hello.readOnly;
    this.size = checkSize(hello);
    this.#leave = leave;
  }

  tell(notice: string): void {
    if (this.#notices.at(-1) === notice) return;
    this.#notices = [...this.#notices.slice(-9), notice];
    this.told.notify();
  }

  takeNotices(): readonly string[] {
    const notices = this.#notices;
    this.#notices = [];
    return notices;
  }

  [Symbol.dispose](): void {
    this.#leave(this);
  }
}

/**
 * The attached people. While exactly one of them can type, the window takes the size of that person's terminal,
 * otherwise its own. People who only watch are counted, but do not affect the size.
 */
export class People implements Task {
  readonly #deps: PeopleDeps;
  readonly #options: PeopleOptions;
  readonly #present = new Set<Person>();
  readonly #woken = new SignalBus();
  /** Counts the changes that may affect the size. */
  #changes = 0;
  #inputAt: { readonly monotonicMs: number; readonly wallMs: number } | undefined;
  /** Until this time, the absence of people who can type does not change the size. Monotonic ms. */
  #returnUntil: number;

  constructor(deps: PeopleDeps, options: PeopleOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#returnUntil = deps.clock.monotonicMs() + RETURN_MS;
  }

  /** When a person last pressed a key, Enter included. Undefined: no one has since this process began. */
  get inputAt(): { readonly monotonicMs: number; readonly wallMs: number } | undefined {
    return this.#inputAt;
  }

  get count(): number {
    return this.#present.size;
  }

  /** Looks for keys that were pressed in tmux itself; after this, `inputAt` takes them into account. */
  async look(): Promise<void> {
    const { clock, typedInTmux } = this.#deps;
    try {
      const at = await typedInTmux?.();
      if (at === undefined) return;
      const now = clock.now();
      const wallMs = Math.min(at, now);
      if (wallMs <= (this.#inputAt?.wallMs ?? Number.NEGATIVE_INFINITY)) return;
      this.#inputAt = { monotonicMs: clock.monotonicMs() - (now - wallMs), wallMs };
    } catch (err) {
      if (!(err instanceof DomainError)) throw err;
    }
  }

  /** Whether a person is typing, or their keys wait for a delivery to end. */
  get isTyping(): boolean {
    const since = this.#deps.clock.monotonicMs() - TYPING_MS;
    return this.#typists().some((person) => person.typedAt > since || person.hasKeysWaiting());
  }

  /** @throws DomainError `invalid` for a size out of bounds */
  enter(hello: AttachHello): Person {
    const person = new Person(hello, (one) => this.#left(one));
    this.#tellOthers(person, `${person.name} ${person.readOnly ? "is watching" : "is typing"} here too`);
    this.#present.add(person);
    this.#wake();
    return person;
  }

  /** @throws DomainError `invalid` for a size out of bounds */
  resized(person: Person, size: Size): void {
    person.size = checkSize(size);
    this.#wake();
  }

  typed(person: Person): void {
    person.typedAt = this.#deps.clock.monotonicMs();
    this.#noteInput();
  }

  /** Call it when the person has pressed Enter: the person no longer counts as typing. */
  finishedTyping(person: Person): void {
    person.typedAt = Number.NEGATIVE_INFINITY;
    this.#noteInput();
  }

  /** Call it when the connection broke: the window keeps its size for a moment, because the person may be back. */
  lost(person: Person): void {
    if (!person.readOnly) this.#returnUntil = this.#deps.clock.monotonicMs() + RETURN_MS;
  }

  tell(notice: string): void {
    for (const person of this.#present) person.tell(notice);
  }

  /** Keeps the window at its intended size, even when the window is recreated, and checks each second who types. */
  run(signal: AbortSignal): Promise<void> {
    return untilAborted(signal, async () => {
      await this.look();
      const before = this.#changes;
      const failed = await this.#apply(signal);
      if (this.#changes !== before) return;
      await this.#woken.nextOrAfter(failed ? RETRY_MS : LOOK_MS, this.#deps.clock, signal);
    });
  }

  #noteInput(): void {
    const { clock } = this.#deps;
    this.#inputAt = { monotonicMs: clock.monotonicMs(), wallMs: clock.now() };
  }

  async #apply(signal: AbortSignal): Promise<boolean> {
    const wanted = this.#wanted();
    const { cols, rows } = this.#deps.size();
    if (wanted === undefined || (wanted.cols === cols && wanted.rows === rows)) return false;
    try {
      await this.#deps.resize(wanted, signal);
      await this.#deps.clock.sleep(RESIZE_PAUSE_MS, signal);
      return false;
    } catch (err) {
      if (!(err instanceof DomainError)) throw err;
      return true;
    }
  }

  /** The size that the window should have; undefined: leave the window as it is for now. */
  #wanted(): Size | undefined {
    const [only, another] = this.#typists();
    if (only === undefined && this.#deps.clock.monotonicMs() < this.#returnUntil) return undefined;
    return only === undefined || another !== undefined ? this.#options.own : only.size;
  }

  #typists(): readonly Person[] {
    return [...this.#present].filter((person) => !person.readOnly);
  }

  #left(person: Person): void {
    if (!this.#present.delete(person)) return;
    this.#tellOthers(person, `${person.name} left`);
    this.#wake();
  }

  #wake(): void {
    this.#changes++;
    this.#woken.notify();
  }

  #tellOthers(person: Person, notice: string): void {
    for (const other of this.#present) if (other !== person) other.tell(notice);
  }
}

/** @throws DomainError `invalid` */
function checkSize({ cols, rows }: Size): Size {
  const fits = (value: number, { min, max }: { readonly min: number; readonly max: number }) =>
    Number.isInteger(value) && value >= min && value <= max;
  if (fits(cols, ATTACH_COLS) && fits(rows, ATTACH_ROWS)) return { cols, rows };
  const bounds = `${ATTACH_COLS.min}x${ATTACH_ROWS.min} to ${ATTACH_COLS.max}x${ATTACH_ROWS.max}`;
  throw new DomainError("invalid", `cannot attach a terminal of ${cols}x${rows}: ${bounds} are allowed`);
}

function cleanName(name: string): string {
  const clean = plainText(name).replace(/\s+/g, " ").trim().slice(0, NAME_MAX);
  return clean === "" ? "somebody" : clean;
}
