import { describe, expect, it } from "vitest";
import { checkTmuxStream } from "../../../test/fuzz/tmux-parser.ts";
import { type ControlEvent, ControlParser, type ControlParserOptions } from "./control-parser.ts";

function parse(
  text: string | Uint8Array,
  chunkBytes = Number.POSITIVE_INFINITY,
  limits?: Partial<ControlParserOptions>,
) {
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  const parser = new ControlParser(limits);
  const events: ControlEvent[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes)
    events.push(...parser.push(bytes.subarray(at, at + chunkBytes)));
  return events;
}

function block(time: number, number: number, flags: number, ok: boolean, ...body: string[]) {
  return { type: "block", time, number, flags, ok, body, truncated: false };
}

describe("ControlParser", () => {
  it("returns a block with its numbers, its lines, and whether it is an error", () => {
    const events = parse("%begin 10 7 1\nfirst\n\nlast\n%end 10 7 1\n%begin 11 8 0\n%error 11 8 0\n");
    expect(events).toMatchObject([block(10, 7, 1, true, "first", "", "last"), block(11, 8, 0, false)]);
  });

  it("returns a body's bytes unchanged, NUL and invalid UTF-8 included", () => {
    const body = Buffer.from([0, 0xff, 0xc3, 10, 0xe2, 0x82, 10]);
    const stream = Buffer.concat([Buffer.from("%begin 1 2 1\n"), body, Buffer.from("%end 1 2 1\n")]);
    for (const size of [1, 2, 100]) {
      const [event] = parse(stream, size);
      expect(event).toMatchObject({ bytes: new Uint8Array(body), body: ["\0\ufffd\ufffd", "\ufffd"] });
    }
  });

  it.each([
    "%end 1 3 1",
    "%end 2 2 1",
    "%end 1 2 0",
    "%end 1 2 1 ",
    " %end 1 2 1",
    "x%end 1 2 1",
    "%end 1 2 1\r",
    "%end 1 2 11",
    "%end  1 2 1",
    "%END 1 2 1",
    "%begin 1 2 1",
    "%begin 5 6 1",
    "%error 1 3 1",
    "%exit",
    "%output %0 %end 1 2 1",
  ])("keeps %j inside the body of block 1 2 1", (line) => {
    const stream = `%begin 1 2 1\n${line}\n%end 1 2 1\n%begin 1 3 1\n%end 1 3 1\n`;
    for (const size of [1, 2, 7, 1000]) {
      expect(parse(stream, size)).toMatchObject([block(1, 2, 1, true, line), block(1, 3, 1, true)]);
    }
  });

  it("returns the same events, wherever the stream is split", () => {
    const stream = Buffer.from(
      "%window-renamed @0 dead\n%begin 1 2 1\n%end 1 2 0\né\n%error 1 2 1\n%exit server exited\n",
    );
    const whole = parse(stream);
    for (let cut = 1; cut < stream.length; cut++) {
      const parser = new ControlParser();
      const events = [...parser.push(stream.subarray(0, cut)), ...parser.push(stream.subarray(cut))];
      expect(JSON.stringify(events), `cut at ${cut}`).toBe(JSON.stringify(whole));
    }
  });

  it("returns notifications with the text after the name, known or not", () => {
    expect(parse("%window-renamed @0 a  b\n%sessions-changed\n%from-the-future x\n%end 1 2 3\n")).toEqual([
      { type: "notification", name: "window-renamed", rest: "@0 a  b" },
      { type: "notification", name: "sessions-changed", rest: "" },
      { type: "notification", name: "from-the-future", rest: "x" },
      { type: "notification", name: "end", rest: "1 2 3" },
    ]);
  });

  it("distinguishes an exit with a reason, one without, and lines that are not tmux's", () => {
    expect(parse("%exit\n%exit too far behind\nno server\n")).toEqual([
      { type: "exit", reason: "" },
      { type: "exit", reason: "too far behind" },
      { type: "stray", line: "no server" },
    ]);
  });

  it("does not treat a %begin with other fields as a block", () => {
    expect(parse("%begin 1 2\n%begin 1 2 3 4\n%begin a 2 1\n").map((event) => event.type)).toEqual([
      "notification",
      "notification",
      "notification",
    ]);
  });

  it.each([1, 13, 1000])("drops a body over the limit, reports it once, and finds its end (chunks of %i)", (size) => {
    const stream = `%begin 1 2 1\n${"%end 1 2 0\n".repeat(50)}%end 1 2 1\n%begin 1 3 1\nok\n%end 1 3 1\n`;
    const events = parse(stream, size, { maxBodyBytes: 100 });
    const last = { ...block(1, 3, 1, true, "ok") };
    const cut = { ...block(1, 2, 1, true), truncated: true };
    const whole = block(1, 2, 1, true, ...Array<string>(50).fill("%end 1 2 0"));
    // In one chunk there is nothing to hold, so nothing to drop.
    if (size === 1000) expect(events).toMatchObject([whole, last]);
    else expect(events).toMatchObject([{ type: "overflow", part: "body", limitBytes: 100 }, cut, last]);
  });

  it("does not accept an end line that is the rest of a line whose beginning was dropped", () => {
    const parser = new ControlParser({ maxBodyBytes: 10 });
    parser.push(Buffer.from(`%begin 1 2 1\n${"x".repeat(40)}`));
    expect(parser.push(Buffer.from("%end 1 2 1\n"))).toEqual([]);
    expect(parser.push(Buffer.from("%end 1 2 1\n"))).toMatchObject([{ type: "block", ok: true, truncated: true }]);
  });

  it("drops a line over the limit, reports it once, and continues with the next", () => {
    const events = parse(`%output ${"x".repeat(300)}\n%exit\n`, 9, { maxLineBytes: 100 });
    expect(events).toEqual([
      { type: "overflow", part: "line", limitBytes: 100 },
      { type: "exit", reason: "" },
    ]);
  });

  it("keeps the lines of an event after the chunk's memory is reused", () => {
    const chunk = Buffer.from("%begin 1 2 1\nkept\n%end 1 2 1\n");
    const [event] = new ControlParser().push(chunk);
    chunk.fill(0);
    expect(event).toMatchObject({ body: ["kept"] });
  });

  it("reads 100,000 generated streams with hostile bodies, split at random bytes, without losing step", {
    timeout: 60_000,
  }, () => {
    for (let seed = 0; seed < 100_000; seed++) {
      const difference = checkTmuxStream(seed);
      if (difference !== undefined) throw new Error(`seed ${seed}: ${difference}`);
    }
  });
});
