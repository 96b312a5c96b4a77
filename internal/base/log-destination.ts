import { closeSync, constants, fstatSync, openSync, writeSync } from "node:fs";

const WAITING_MAX_BYTES = 64 * 1024;
const RETRY_MS = 50;

/**
 * A destination of log lines: a descriptor, usually stderr. A reader that stops reading never stops the program: up to
 * 64 KiB are buffered, further lines are dropped and counted, and a line reports how many once the reader continues.
 * Lines still buffered when the process ends are lost. If the descriptor is a socket, or has no name under /proc
 * (macOS), a write blocks instead.
 */
export class LogDestination {
  readonly #fd: number;
  readonly #droppedLine: (lines: number) => string;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #retry: NodeJS.Timeout | undefined;

  /** `droppedLine` returns the line about dropped lines, with its line feed. */
  constructor(fd: number, droppedLine: (lines: number) => string) {
    this.#fd = fd;
    this.#droppedLine = droppedLine;
  }

  /** A destination that does not wait for the reader of `fd`; `fd` itself, which others may share, is not changed. */
  static open(fd: number, droppedLine: (lines: number) => string): LogDestination {
    return new LogDestination(withoutWaiting(fd) ?? fd, droppedLine);
  }

  write(line: string): void {
    this.#drain();
    if (this.#dropped > 0 && this.#waiting.length === 0) this.#tellDropped();
    this.#take(Buffer.from(line));
  }

  close(): void {
    clearTimeout(this.#retry);
    closeSync(this.#fd);
  }

  #take(line: Buffer): void {
    const rest = this.#waiting.length > 0 ? line : this.#writeSome(line);
    if (rest.length === 0) return;
    const isBegun = rest.length < line.length; // the rest of the line must follow
    if (!isBegun && this.#waitingBytes + rest.length > WAITING_MAX_BYTES) {
      this.#dropped++;
    } else {
      this.#waiting.push(rest);
      this.#waitingBytes += rest.length;
    }
    this.#retry ??= setTimeout(() => this.#tryAgain(), RETRY_MS).unref();
  }

  #tryAgain(): void {
    this.#retry = undefined;
    this.#drain();
    if (this.#waiting.length > 0) this.#retry = setTimeout(() => this.#tryAgain(), RETRY_MS).unref();
    else if (this.#dropped > 0) this.#tellDropped();
  }

  #drain(): void {
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      const rest = this.#writeSome(first);
      this.#waitingBytes -= first.length - rest.length;
      if (rest.length > 0) {
        this.#waiting[0] = rest;
        return;
      }
      this.#waiting.shift();
    }
  }

  #tellDropped(): void {
    const lines = this.#dropped;
    this.#dropped = 0;
    this.#take(Buffer.from(this.#droppedLine(lines)));
  }

  /** Writes as much as it can; returns the rest. If the reader is gone, the line is dropped. */
  #writeSome(line: Buffer): Buffer {
    try {
      return line.subarray(writeSync(this.#fd, line));
    } catch (err) {
      return (err as NodeJS.ErrnoException).code === "EAGAIN" ? line : Buffer.alloc(0);
    }
  }
}

/** Opens the same pipe or terminal a second time, without blocking; undefined where that is impossible. */
function withoutWaiting(fd: number): number | undefined {
  try {
    const found = fstatSync(fd);
    if (!found.isFIFO() && !found.isCharacterDevice()) return undefined;
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return undefined;
  }
}
