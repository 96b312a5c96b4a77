import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { EventType } from "../../../internal/gen/gastown/v1/common_pb.ts";
import { SidecarEventReader } from "./event-reader.ts";
import { type RunningSidecar, startSidecar, until } from "./sidecar.ts";
import { inItsTmux } from "./sidecar-hands.ts";

export interface NumberedLinesOptions {
  /** The number of changes to make to the terminal. */
  readonly acts: number;
  readonly seed: number;
  /** Printed unchanged before the first line. */
  readonly prologue?: Uint8Array;
  /** Called with each change of the terminal, and the number of lines printed before it. */
  readonly onAct?: (what: string, lines: number) => void;
}

export interface NumberedLinesResult {
  readonly expected: readonly string[];
  /** The numbered lines, or their remains, from the STDOUT events. */
  readonly told: readonly string[];
  /** The number of STDOUT events that hold only blank lines. */
  readonly blank: number;
  readonly counts: Readonly<Record<string, number>>;
  /** Faults of the event stream, and errors that report lost output. */
  readonly faults: readonly string[];
}

/** Matches the marks of a numbered line, `L7` at its beginning and `<7>` at its end, and parts of the latter. */
const MARK = /L\d+|<\d+|\d+>/;
const WORDS = ["alpha", "β-wave", "漢字かな", "e\u0301clair", "🚀", "lorem ipsum dolor", "0123456789".repeat(4), "—"];

/** A repeatable stream of numbers in [0, 1). */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Makes a program in a sidecar print numbered lines while its terminal changes; returns them with the lines that
 * StreamEvents reported.
 */
export async function printNumberedLines(options: NumberedLinesOptions): Promise<NumberedLinesResult> {
  // The program prints what it reads from a FIFO; when it is restarted, it continues to read the same FIFO.
  await using sidecar = await startSidecar((dir) => {
    const fifo = join(dir, "print.fifo");
    return {
      agent: "generic",
      command: ["/bin/sh", "-c", `[ -p ${fifo} ] || mkfifo ${fifo}; exec cat <> ${fifo}`],
      flags: ["--restart", "always"],
    };
  });
  await using reader = new SidecarEventReader(sidecar.client);
  await using fifo = await until("the program", 30_000, () =>
    open(join(sidecar.dir, "print.fifo"), constants.O_RDWR).catch(() => undefined),
  );
  return await new Printing(sidecar, reader, fifo, options).run();
}

class Printing {
  readonly #sidecar: RunningSidecar;
  readonly #reader: SidecarEventReader;
  readonly #fifo: FileHandle;
  readonly #options: NumberedLinesOptions;
  readonly #random: () => number;
  readonly #expected: string[] = [];
  readonly #counts: Record<string, number> = {};

  constructor(sidecar: RunningSidecar, reader: SidecarEventReader, fifo: FileHandle, options: NumberedLinesOptions) {
    this.#sidecar = sidecar;
    this.#reader = reader;
    this.#fifo = fifo;
    this.#options = options;
    this.#random = seeded(options.seed);
  }

  async run(): Promise<NumberedLinesResult> {
    const { acts, prologue } = this.#options;
    await this.#reader.until("its start", ({ type }) => type === EventType.SESSION_STARTED);
    if (prologue !== undefined) await this.#print(prologue);
    const all = [
      ...Array<() => Promise<void>>(6).fill(() => this.#resize()),
      ...Array<() => Promise<void>>(2).fill(() => this.#alternate()),
      ...Array<() => Promise<void>>(2).fill(() => this.#clear()),
    ];
    for (let i = 0; i < acts; i++) {
      await this.#lines(this.#upTo(8));
      if (this.#random() < 0.02) await this.#restart();
      else await all[this.#upTo(all.length)]?.();
      if (this.#random() < 0.01) await sleep(this.#upTo(400)); // a pause in which the sidecar can read the exact screen
    }
    await this.#lines(3);
    await this.#untilTold();
    return this.#result();
  }

  #result(): NumberedLinesResult {
    const { events } = this.#reader;
    const lines = this.#reader.events.filter(({ type }) => type === EventType.STDOUT);
    const told = lines
      .map(({ text }) => text)
      .join("")
      .split("\n");
    const lost = events.filter(({ type }) => type === EventType.BUFFER_OVERFLOW).map(({ error }) => error);
    return {
      expected: this.#expected,
      told: told.filter((line) => MARK.test(line)),
      blank: lines.filter(({ text }) => text.trim() === "").length,
      counts: this.#counts,
      faults: [...this.#reader.faults, ...lost],
    };
  }

  /**
   * Waits for the last line. The program never reports that it is idle, so its lines are reported after two seconds
   * without output.
   */
  async #untilTold(): Promise<void> {
    const last = this.#expected.at(-1) ?? "";
    await this.#reader.until("the last line", ({ text }) => text.includes(last), 60_000);
    await sleep(500);
  }

  #upTo(n: number): number {
    return Math.floor(this.#random() * n);
  }

  #note(what: string, how = ""): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1;
    this.#options.onAct?.(`${what} ${how}`, this.#expected.length);
  }

  async #lines(count: number): Promise<void> {
    let text = "";
    for (let i = 0; i < count; i++) {
      const n = this.#expected.length;
      const words = Array.from({ length: this.#upTo(7) }, () => WORDS[this.#upTo(WORDS.length)]);
      const line = `L${n} ${words.join(" ")} <${n}>`.normalize("NFC");
      this.#expected.push(line);
      text += `${line}\n`;
    }
    await this.#print(text);
  }

  async #print(text: string | Uint8Array): Promise<void> {
    await this.#fifo.write(typeof text === "string" ? Buffer.from(text) : text);
  }

  async #resize(): Promise<void> {
    const [cols, rows] = [20 + this.#upTo(180), 5 + this.#upTo(55)];
    this.#note("resize", `${cols}x${rows}`);
    await inItsTmux(this.#sidecar, "resize-window", "-t", "PANE", "-x", `${cols}`, "-y", `${rows}`);
  }

  async #alternate(): Promise<void> {
    this.#note("alternate screen");
    await this.#print(`\x1b[?1049h\x1b[H${"another screen\n".repeat(this.#upTo(9))}`);
    if (this.#random() < 0.5) await this.#resize();
    // If the window has changed meanwhile, the cursor may return onto an existing line.
    await this.#print("\x1b[?1049l\x1b[999;1H\n");
  }

  async #clear(): Promise<void> {
    const ways = ["\x1b[H\x1b[2J", "\x1b[H\x1b[J", "\x1b[H\x1b[2J\x1b[3J", "\x1b[3J", "\x1bc"];
    const way = ways[this.#upTo(ways.length)] ?? "";
    this.#note("clear", way);
    await this.#print(way);
  }

  /** Restarts the program, after its earlier output has been drawn. */
  async #restart(): Promise<void> {
    this.#note("restart");
    const title = `drawn ${this.#expected.length}`;
    await this.#print(`\x1b]2;${title}\x1b\\`);
    await until("the printed text to appear", 30_000, async () => {
      const shown = await inItsTmux(this.#sidecar, "display-message", "-p", "-t", "PANE", "#{pane_title}");
      return shown.trim() === title || undefined;
    });
    await sleep(150);
    const { agentPid, restarts } = await this.#sidecar.client.status({});
    if (agentPid === 0) return;
    await inItsTmux(this.#sidecar, "respawn-pane", "-k", "-t", "PANE");
    await until("its next life", 30_000, async () => {
      const status = await this.#sidecar.client.status({});
      return status.restarts > restarts && status.sessionAlive ? status : undefined;
    });
  }
}
