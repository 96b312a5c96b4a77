import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { seeded } from "../../../bench/stats.ts";
import { EventType } from "../../../internal/gen/gastown/v1/common_pb.ts";
import type { SidecarEvent } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { abortOnExit } from "../../../internal/rpc/client/transport.ts";
import { type RunningSidecar, startSidecar, until } from "../../support/sidecar/sidecar.ts";
import { Hands } from "../hands.ts";
import { GAP, judgeLines } from "./judge-lines.ts";

export interface LinesOptions {
  readonly acts: number;
  readonly seed: number;
  /** A built sidecar; default: its sources. */
  readonly program?: string;
  readonly say: (text: string) => void;
}

export interface LinesResult {
  readonly done: Readonly<Record<string, number>>;
  readonly printed: number;
  readonly faults: readonly string[];
  /** The complete output according to the events. */
  readonly told: string;
  /** The acts, in order. */
  readonly acts: readonly string[];
}

/** The controlling end of `printer.ts`: one order at a time. */
class Printer implements AsyncDisposable {
  readonly command: readonly [string, ...string[]];
  readonly #server = createServer();
  #socket: Socket | undefined;
  #done = 0;

  private constructor(command: readonly [string, ...string[]]) {
    this.command = command;
  }

  static async listen(dir: string): Promise<Printer> {
    const [path, state] = [join(dir, "printer.sock"), join(dir, "next")];
    await writeFile(state, "0");
    const file = join(import.meta.dirname, "printer.ts");
    const script = 'stty raw -echo; exec "$@"'; // the terminal passes the output on unchanged
    const printer = new Printer(["sh", "-c", script, "sh", process.execPath, ...process.execArgv, file, path, state]);
    printer.#server.on("connection", (socket) => {
      printer.#socket = socket;
      socket
        .on("error", () => {})
        .on("close", () => {
          if (printer.#socket === socket) printer.#socket = undefined;
        });
      createInterface({ input: socket }).on("line", () => printer.#done++);
    });
    printer.#server.listen(path);
    await once(printer.#server, "listening");
    return printer;
  }

  /** Resolves when the order is done or the printer has ended. */
  async tell(order: string): Promise<void> {
    const socket = await until("a printer", 120_000, () => this.#socket);
    const before = this.#done;
    socket.write(`${order}\n`);
    await until(order, 60_000, () => (this.#done > before || socket.destroyed ? true : undefined));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket?.destroy();
    this.#server.close();
    await Promise.resolve();
  }
}

/** Collects the output in the events, over all lives of the serving half. */
class ToldOutput {
  text = "";
  readonly faults: string[] = [];
  #last: Pick<SidecarEvent, "seq" | "epoch"> | undefined;
  lastAt = performance.now();

  async read({ client }: RunningSidecar, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const from = this.#last === undefined ? {} : { afterSeq: this.#last.seq, epoch: this.#last.epoch };
      try {
        for await (const event of abortOnExit((own) => client.streamEvents(from, { signal: own }), signal)) {
          this.#take(event);
        }
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  #take(event: SidecarEvent): void {
    const { seq, epoch, gap } = event;
    const due = (this.#last?.seq ?? 0n) + 1n;
    const isNamed = gap !== undefined && gap.first === due && gap.to === seq + 1n;
    if (epoch !== (this.#last?.epoch ?? epoch) || (seq !== due && !isNamed))
      this.faults.push(`event ${seq}, due ${due}`);
    if (gap !== undefined) this.text += GAP;
    this.#last = { seq, epoch };
    if (event.type !== EventType.STDOUT) return;
    this.text += event.text;
    this.lastAt = performance.now();
  }
}

const SHARES: readonly (readonly [name: string, weight: number])[] = [
  ["lines", 48],
  ["resize", 28],
  ["alternate on", 8],
  ["clear", 6],
  ["clear history", 4],
  ["pause", 4],
  ["freeze", 1],
  ["kill", 1],
];
/** The acts that also happen while the alternate screen is on. */
const OF_BOTH_SCREENS = new Set(["resize", "kill", "pause", "freeze"]);
/**
 * The longest stop of the serving half, at any point of its work; shorter than the time after which it counts as hung.
 */
const FROZEN_MS = 900;
const CATCH_UP_MS = 60_000;
const STILL_MS = 4000;

/**
 * Prints numbered lines while the window, the screen and the serving half change at random; each line must be reported
 * once.
 */
export async function playLines(options: LinesOptions, signal: AbortSignal): Promise<LinesResult> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "gt-test-lines-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const printer = stack.use(await Printer.listen(dir));
  const { program } = options;
  const sidecar = stack.use(
    await startSidecar({ agent: "generic", command: printer.command, flags: ["--restart", "always"], program }),
  );
  const told = new ToldOutput();
  const leave = new AbortController();
  const reading = told.read(sidecar, leave.signal);
  stack.defer(async () => {
    leave.abort();
    await reading;
  });
  const player = new Player(sidecar, printer, seeded(options.seed));
  while (player.acts.length < options.acts && !signal.aborted) {
    await player.act();
    if (player.acts.length % 1000 === 0) options.say(`lines: ${player.acts.length} acts, ${player.printed} lines`);
  }
  await player.end();
  await until("the end of the output", CATCH_UP_MS, () => {
    return performance.now() - told.lastAt >= STILL_MS || undefined;
  });
  const faults = [...told.faults, ...judgeLines(told.text, player.printed)];
  return { done: player.done, printed: player.printed, faults, told: told.text, acts: player.acts };
}

/** Performs one act after the other on the agent's terminal. */
class Player {
  readonly acts: string[] = [];
  readonly done: Record<string, number> = {};
  printed = 0;
  readonly #sidecar: RunningSidecar;
  readonly #printer: Printer;
  readonly #hands: Hands;
  readonly #random: () => number;
  #isAlternate = false;
  #killed = 0;

  constructor(sidecar: RunningSidecar, printer: Printer, random: () => number) {
    this.#sidecar = sidecar;
    this.#printer = printer;
    this.#hands = new Hands(sidecar);
    this.#random = random;
  }

  async act(): Promise<void> {
    const name = this.#chosen();
    // Text that is erased while no half is serving is lost: no one has seen it.
    if (name.startsWith("clear") || name === "kill") await this.#served();
    this.done[name] = (this.done[name] ?? 0) + 1;
    await this.#perform(name);
  }

  /** Returns to the main screen, with a serving half. */
  async end(): Promise<void> {
    if (this.#isAlternate) await this.#perform("alternate off");
    await this.#served();
  }

  #chosen(): string {
    const name = chosen(this.#random() * 100);
    if (!this.#isAlternate) return name;
    return OF_BOTH_SCREENS.has(name) ? name : "alternate off";
  }

  async #perform(name: string): Promise<void> {
    if (name === "resize") {
      const [cols, rows] = [this.#upTo(20, 180), this.#upTo(5, 55)];
      this.acts.push(`resize ${cols}x${rows} at ${this.printed}`);
      return await this.#hands.resize(cols, rows);
    }
    if (name === "pause") {
      this.acts.push(`pause at ${this.printed}`);
      return await this.#hands.pause(this.#upTo(50, 1500));
    }
    if (name === "kill") {
      this.acts.push(`kill at ${this.printed}`);
      this.#killed = this.#sidecar.servingPid();
      process.kill(this.#killed, "SIGKILL");
      return;
    }
    if (name === "freeze") {
      this.acts.push(`freeze at ${this.printed}`);
      return freeze(this.#sidecar.servingPid(), this.#upTo(20, FROZEN_MS));
    }
    const count = name === "lines" ? this.#upTo(1, 60) : 0;
    const order = name === "lines" ? `lines ${count}` : name;
    this.acts.push(`${order} at ${this.printed}`);
    this.printed += count;
    await this.#printer.tell(order);
    this.#isAlternate = name === "alternate on" || (this.#isAlternate && name !== "alternate off");
  }

  async #served(): Promise<void> {
    await until("a serving half", CATCH_UP_MS, async () => {
      if (this.#sidecar.servingPid() === this.#killed) return undefined;
      return await this.#sidecar.client.status({}).then(
        () => true,
        () => undefined,
      );
    });
  }

  #upTo(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least + 1));
  }
}

/** Stops a process for a while, without waiting for it. */
function freeze(pid: number, ms: number): void {
  if (pid === 0) return; // 0 is every process of this group
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(pid, name);
    } catch {} // it was killed, and the next one has not started
  };
  signal("SIGSTOP");
  setTimeout(() => signal("SIGCONT"), ms);
}

function chosen(percent: number): string {
  let sum = 0;
  for (const [name, weight] of SHARES) {
    sum += weight;
    if (percent < sum) return name;
  }
  return "lines";
}
