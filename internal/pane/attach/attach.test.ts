import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import type { AttachHello, AttachInput, AttachOutput } from "../../session/attach.ts";
import { OutputStream } from "../screen/output.ts";
import { attach } from "./attach.ts";
import { People } from "./attach-people.ts";

const ann: AttachHello = { cols: 40, rows: 10, readOnly: false, name: "ann" };

/** An agent's terminal whose output the test controls. */
class Stage {
  readonly clock = new FakeClock();
  readonly output: OutputStream;
  readonly people: People;
  readonly written: string[] = [];
  readonly stop = new AbortController();
  ended: string | undefined;

  constructor() {
    const { clock } = this;
    this.output = new OutputStream({ clock }, { cols: 40, rows: 10, rawBytes: 1 << 20, epoch: "e", startOffset: 0n });
    const resize = () => Promise.resolve();
    this.people = new People({ clock, size: () => this.output.emulator, resize }, { own: { cols: 40, rows: 10 } });
  }

  async print(text: string): Promise<void> {
    this.output.take(Buffer.from(text));
    await this.output.drawn();
  }

  attach(hello: AttachHello = ann, inputs: AsyncIterable<AttachInput> = silent()): AsyncGenerator<AttachOutput> {
    const { clock, output, people } = this;
    const pane = {
      sendBytes: (data: Uint8Array) => {
        this.written.push(Buffer.from(data).toString());
        return Promise.resolve("sent" as const);
      },
      stage: () => Promise.resolve(),
      paste: () => Promise.resolve("pasted" as const),
      dropBuffer: () => Promise.resolve(),
    };
    const mailbox = {
      exclusively: <T>(work: (signal: AbortSignal) => Promise<T>) => work(this.stop.signal),
      interrupt: <T>(work: () => Promise<T>) => work(),
    };
    const paneForCall = () => () => Promise.resolve(pane);
    const deps = { clock, output, people, mailbox, paneForCall, ended: () => this.ended, exitCode: () => 3 };
    return attach(deps, hello, inputs, this.stop.signal);
  }

  end(reason: string): void {
    this.ended = reason;
    this.output.bytes.notify();
  }
}

/** The input of a person who does nothing. */
async function* silent(): AsyncGenerator<AttachInput> {
  await new Promise(() => {});
}

async function* doing(...inputs: readonly AttachInput[]): AsyncGenerator<AttachInput> {
  yield* inputs;
  await new Promise(() => {});
}

const keys = (text: string): AttachInput => ({ type: "data", data: Buffer.from(text) });

let stage: Stage;
let opened: AsyncGenerator<AttachOutput>[];
beforeEach(async () => {
  stage = new Stage();
  opened = [];
  await stage.output.resumeFrom({ text: "", cols: 40, rows: 10, hasHistory: true });
});
afterEach(async () => {
  stage.stop.abort(new Error("the test is over"));
  for (const one of opened) await one.return(undefined).catch(() => {});
  await settle();
  expect(stage.people.count).toBe(0);
  expect(stage.clock.sleeping).toBe(0);
});

function open(...args: Parameters<Stage["attach"]>): AsyncGenerator<AttachOutput> {
  const outputs = stage.attach(...args);
  opened.push(outputs);
  return outputs;
}

async function next(outputs: AsyncGenerator<AttachOutput>): Promise<AttachOutput> {
  const { value, done } = await stage.clock.until(outputs.next());
  if (done) throw new Error("the output has ended");
  return value;
}

async function text(outputs: AsyncGenerator<AttachOutput>): Promise<string> {
  const output = await next(outputs);
  if (output.type !== "data") throw new Error(`not data but ${output.type}`);
  return Buffer.from(output.data).toString();
}

/** The first two messages: size and picture. */
async function begun(outputs: AsyncGenerator<AttachOutput>): Promise<string> {
  expect(await next(outputs)).toEqual({ type: "resized", cols: 40, rows: 10 });
  return await text(outputs);
}

describe("the output for a person", () => {
  it("is the size, a redraw of the current screen, and then the raw bytes", async () => {
    await stage.print("on the screen");
    const outputs = open();
    expect(await begun(outputs)).toMatch(/\x1b\[H\x1b\[2J.*on the screen/s);
    await stage.print("raw \x1b[31mbytes");
    expect(await text(outputs)).toBe("raw \x1b[31mbytes");
  });

  it("redraws the screen after a resize, and again once the screen is known exactly", async () => {
    const outputs = open();
    await begun(outputs);
    await stage.print("text");
    await text(outputs);
    await stage.output.resize(30, 8);
    expect(await next(outputs)).toEqual({ type: "resized", cols: 30, rows: 8 });
    expect(await text(outputs)).toContain("text");
    await stage.output.redraw({ text: "exact", cols: 30, rows: 8, hasHistory: true }, stage.output.drawnTo, true);
    expect(await text(outputs)).toContain("exact");
  });

  it("redraws the screen once when the agent starts again", async () => {
    const outputs = open();
    await begun(outputs);
    await stage.print("old life");
    await text(outputs);
    await stage.output.renew();
    expect(await text(outputs)).not.toContain("old life");
    await stage.print("new life");
    expect(await text(outputs)).toBe("new life");
  });

  it("is a redraw of the current screen if the terminal is far behind", async () => {
    const outputs = open();
    await begun(outputs);
    for (let i = 0; i < 40; i++) await stage.print(`${"x".repeat(10_000)}\r\n`);
    await stage.print("\x1b[2J\x1b[Hthe end");
    expect(await text(outputs)).toMatch(/\x1b\[2J.*the end/s);
    expect(await next(outputs)).toMatchObject({ type: "notice", text: expect.stringContaining("skipped") });
  });

  it("ends with the agent, after its last output", async () => {
    const outputs = open();
    await begun(outputs);
    await stage.print("last words");
    stage.end("the agent has ended");
    expect(await text(outputs)).toBe("last words");
    expect(await next(outputs)).toEqual({ type: "end", reason: "the agent has ended", exitCode: 3 });
    expect((await outputs.next()).done).toBe(true);
  });
});

describe("the input of a person", () => {
  it("goes to the pane, and counts as typing until Enter", async () => {
    const outputs = open(ann, doing(keys("abc")));
    await begun(outputs);
    expect(stage.written).toEqual(["abc"]);
    expect(stage.people.isTyping).toBe(true);
    const other = open(ann, doing(keys("\x1b[<35;1;1M"), keys("go"), keys("\r")));
    await begun(other);
    await opened.shift()?.return(undefined);
    expect(stage.written).toEqual(["abc", "\x1b[<35;1;1M", "go", "\r"]);
    expect(stage.people.isTyping).toBe(false);
  });

  it("is written completely before the person counts as gone", async () => {
    const leaving = async function* (): AsyncGenerator<AttachInput> {
      yield keys("last");
    };
    const outputs = open(ann, leaving());
    await begun(outputs);
    expect(await next(outputs)).toEqual({ type: "end", reason: "detached", exitCode: 0 });
    expect(stage.written).toEqual(["last"]);
  });

  it("is refused from a person who only watches, and nothing is written", async () => {
    const outputs = open({ ...ann, readOnly: true }, doing({ type: "resize", cols: 50, rows: 12 }, keys("x")));
    const all = (async () => {
      for await (const _ of outputs);
    })();
    await expect(stage.clock.until(all)).rejects.toMatchObject({ kind: "denied" });
    expect(stage.written).toEqual([]);
  });

  it.each([
    { cols: 0, rows: 0 },
    { cols: 1000, rows: 24 },
  ])("is refused if it resizes to an invalid size: %j", async (size) => {
    const outputs = open(ann, doing({ type: "resize", ...size }));
    const all = (async () => {
      for await (const _ of outputs);
    })();
    await expect(stage.clock.until(all)).rejects.toMatchObject({ kind: "invalid" });
  });
});
