import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { DomainError } from "../../base/errors.ts";
import { Serial } from "../../base/serial.ts";
import { TmuxUnavailableError } from "../../tmux/pane/errors.ts";
import { AttachKeys, type AttachPane } from "./attach-keys.ts";

/** A pen, a pane that records its input, and one person's keys. */
class Desk {
  readonly clock = new FakeClock();
  readonly written: string[] = [];
  readonly lost: string[] = [];
  readonly pen = new Serial();
  interrupts = 0;
  answer: () => Promise<"sent" | "refused"> = () => Promise.resolve("sent");
  hasPane = true;
  /** How often the agent has been started. */
  life = 1;
  readonly keys: AttachKeys;
  readonly stop = new AbortController();
  #running: Promise<void> | undefined;
  readonly #staged = new Map<string, string>();

  constructor() {
    const pane: AttachPane = {
      sendBytes: (data) => {
        this.written.push(Buffer.from(data).toString());
        return this.answer();
      },
      stage: async (buffer, text) => void this.#staged.set(buffer, text),
      paste: async (buffer) => {
        this.written.push(`paste ${this.#staged.get(buffer)}`);
        this.#staged.delete(buffer);
        return "pasted";
      },
      dropBuffer: async (buffer) => void this.#staged.delete(buffer),
    };
    this.keys = new AttachKeys({
      clock: this.clock,
      mailbox: {
        exclusively: (work) => this.pen.inTurn(() => work(this.stop.signal)),
        interrupt: (work) => {
          this.interrupts++;
          return work();
        },
      },
      paneForCall: () => this.#paneWait(pane),
      lost: (why) => this.lost.push(why),
    });
  }

  /** As `PaneAccess` waits. */
  #paneWait(pane: AttachPane) {
    const end = this.clock.monotonicMs() + 5000;
    const { life } = this;
    return async (signal: AbortSignal) => {
      while (!this.hasPane && this.clock.monotonicMs() < end) await this.clock.sleep(20, signal);
      if (this.life !== life) throw new DomainError("unavailable", "the agent was started again");
      return this.hasPane ? pane : undefined;
    };
  }

  start(): void {
    this.#running = this.keys.run(this.stop.signal);
  }

  push(text: string): Promise<void> {
    return this.keys.push(Buffer.from(text), this.stop.signal);
  }

  /** A delivery takes the pen; gives it back when the returned function is called. */
  async deliver(): Promise<() => Promise<void>> {
    const { promise, resolve } = Promise.withResolvers<void>();
    void this.pen.inTurn(() => promise);
    await settle();
    return async () => {
      resolve();
      await settle();
    };
  }

  async end(): Promise<void> {
    this.stop.abort(new Error("the test is over"));
    await this.#running;
  }
}

let desk: Desk;
beforeEach(() => {
  desk = new Desk();
  desk.start();
});
afterEach(() => desk.end());

describe("keys", () => {
  it("are written at once and in order", async () => {
    await desk.push("a");
    await desk.push("b\x1b[A");
    await settle();
    expect(desk.written).toEqual(["a", "b\x1b[A"]);
    expect(desk.keys.isWaiting).toBe(false);
  });

  it("wait for a delivery in progress", async () => {
    const finish = await desk.deliver();
    await desk.push("hello");
    await desk.clock.advance(10_000);
    expect(desk.written).toEqual([]);
    expect(desk.keys.isWaiting).toBe(true);
    await finish();
    expect(desk.written).toEqual(["hello"]);
  });

  it("are pasted together if they were one paste", async () => {
    await desk.push("a\x1b[200~two\nlines\x1b[201~b");
    await settle();
    expect(desk.written).toEqual(["a", "paste two\nlines", "b"]);
  });

  it("are written in pieces if they are many, and wait for room if they do not fit", async () => {
    const finish = await desk.deliver();
    const first = desk.push("x".repeat(1024 * 1024));
    await first;
    let taken = false;
    const second = desk.push("y".repeat(10_000)).then(() => {
      taken = true;
    });
    await settle();
    expect(taken).toBe(false);
    await finish();
    for (let i = 0; i < 300 && !taken; i++) await settle();
    await second;
    await desk.keys.written(desk.stop.signal);
    expect(desk.written.join("")).toBe("x".repeat(1024 * 1024) + "y".repeat(10_000));
    expect(Math.max(...desk.written.map((piece) => piece.length))).toBe(4096);
  });

  it("that were split are written if the rest does not follow", async () => {
    await desk.push("\x1b[20");
    await desk.clock.advance(49);
    expect(desk.written).toEqual([]);
    await desk.clock.advance(1);
    expect(desk.written).toEqual(["\x1b[20"]);
    await desk.push("\x1b[200~half a paste");
    await desk.clock.advance(2000);
    expect(desk.written).toEqual(["\x1b[20", "paste half a paste"]);
  });

  it("of a person who has left are not written", async () => {
    const finish = await desk.deliver();
    await desk.push("too late");
    await desk.end();
    await finish();
    expect(desk.written).toEqual([]);
  });

  it("are reported if they are dropped", async () => {
    desk.answer = () => Promise.resolve("refused");
    await desk.push("a");
    await settle();
    desk.answer = () => Promise.reject(new TmuxUnavailableError("gone", false));
    await desk.push("b");
    await settle();
    desk.hasPane = false;
    await desk.push("c");
    await desk.clock.advance(5000);
    expect(desk.lost).toEqual(["the agent is dead", "tmux is away", "tmux is away"]);
  });
});

describe("keys while tmux is away", () => {
  it("wait for tmux", async () => {
    desk.hasPane = false;
    await desk.push("a");
    await desk.push("b");
    await desk.clock.advance(4000);
    expect([desk.written, desk.lost]).toEqual([[], []]);
    desk.hasPane = true;
    await desk.clock.advance(20);
    expect([desk.written, desk.lost]).toEqual([["a", "b"], []]);
  });

  it("are dropped together after five seconds, and later ones at once", async () => {
    desk.hasPane = false;
    await desk.push("a");
    await desk.push("b");
    await desk.clock.advance(5000);
    await desk.push("c");
    await settle();
    expect(desk.lost).toHaveLength(3);
    desk.hasPane = true;
    await desk.push("d");
    await settle();
    expect(desk.written).toEqual(["d"]);
  });

  it("do not prevent a person from leaving", async () => {
    desk.hasPane = false;
    await desk.push("a");
    await settle();
    await desk.end();
    expect([desk.written, desk.lost, desk.clock.sleeping]).toEqual([[], [], 0]);
  });
});

describe("keys while the agent restarts", () => {
  it("are dropped: the new agent gets only those that are typed after its start", async () => {
    desk.answer = () => Promise.resolve("refused");
    await desk.push("to the dead agent");
    await settle();
    expect(desk.written.splice(0)).toEqual(["to the dead agent"]);
    desk.hasPane = false;
    await desk.push("while it");
    await desk.push(" starts");
    await settle();
    desk.answer = () => Promise.resolve("sent");
    desk.life++;
    desk.hasPane = true;
    await desk.clock.advance(20);
    expect([desk.written, desk.keys.isWaiting]).toEqual([[], false]);
    await desk.push("to the new agent");
    await settle();
    expect(desk.written).toEqual(["to the new agent"]);
    expect(desk.lost).toEqual(["the agent is dead", "the agent was started again"]);
  });
});

describe("Ctrl-C", () => {
  it("is written in order like every key if no delivery is in progress", async () => {
    await desk.push("text\x03more");
    await desk.clock.advance(1000);
    expect(desk.written).toEqual(["text\x03more"]);
    expect(desk.interrupts).toBe(0);
  });

  it("overtakes a delivery, drops keys typed before it, and keeps those typed after it", async () => {
    const finish = await desk.deliver();
    await desk.push("dropped");
    await desk.push("dropped too\x03kept");
    await desk.push(" and this");
    await desk.clock.advance(20);
    expect(desk.written).toEqual(["\x03"]);
    expect(desk.interrupts).toBe(1);
    await finish();
    expect(desk.written).toEqual(["\x03", "kept", " and this"]);
  });

  it("inside a paste is part of it", async () => {
    const finish = await desk.deliver();
    await desk.push("typed");
    await desk.push("\x1b[200~a\x03b\x1b[201~");
    await desk.clock.advance(1000);
    expect(desk.written).toEqual([]);
    await finish();
    expect(desk.written).toEqual(["typed", "paste a\x03b"]);
  });

  it("is not the only key to overtake: a single Escape does, too, and an arrow key does not", async () => {
    const finish = await desk.deliver();
    await desk.push("\x1b[A");
    await desk.clock.advance(1000);
    expect(desk.written).toEqual([]);
    await desk.push("\x1b");
    await desk.clock.advance(20);
    expect(desk.written).toEqual(["\x1b"]);
    await finish();
    expect(desk.written).toEqual(["\x1b"]);
  });
});
