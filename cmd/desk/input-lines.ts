import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { type CutLine, LineCutter } from "../../internal/base/text/line-cutter.ts";

/** One input, unchanged. */
export type InputLine =
  | { readonly type: "text"; readonly text: string }
  /** Longer than the limit; it was dropped. */
  | { readonly type: "too long" }
  /** Not UTF-8. */
  | { readonly type: "not text" };

/** The lines of a stream without their line feeds; at most `maxBytes` of one are held. */
export async function* inputLines(stdin: Readable, maxBytes: number): AsyncGenerator<InputLine, void, undefined> {
  const lines = new LineCutter(maxBytes);
  for await (const chunk of stdin as AsyncIterable<Buffer | string>) {
    for (const line of lines.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk)) yield inputOf(line);
  }
  const last = lines.end();
  if (last !== undefined) yield inputOf(last);
}

function inputOf({ bytes, lostBytes }: CutLine): InputLine {
  return lostBytes > 0 ? { type: "too long" } : textOf(bytes);
}

/** All of a stream as one input, without its final line end. */
export async function wholeInput(stdin: Readable, maxBytes: number): Promise<InputLine> {
  const held: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin as AsyncIterable<Buffer | string>) {
    const piece = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    if (bytes <= maxBytes + 2) held.push(piece);
    bytes += piece.length;
  }
  if (bytes > maxBytes + 2) return { type: "too long" };
  const line = textOf(Buffer.concat(held));
  return line.type === "text" ? { type: "text", text: line.text.replace(/\r?\n$/, "") } : line;
}

function textOf(bytes: Buffer): InputLine {
  try {
    return { type: "text", text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { type: "not text" };
  }
}

export interface Typed {
  /** The lines, until the end of file or `exit`. */
  readonly lines: AsyncGenerator<string, void, undefined>;
  /** Shows the prompt. */
  prompt(): void;
}

/**
 * Lines that a person types at a terminal. `onInterrupt` is called for Ctrl-C, and returns true if it has dealt with
 * it.
 */
export function typedLines(
  { stdin, stdout }: { readonly stdin: NodeJS.ReadStream; readonly stdout: NodeJS.WriteStream },
  prompt: string,
  onInterrupt: () => boolean,
): Typed {
  const terminal = createInterface({ input: stdin, output: stdout, prompt, terminal: true, historySize: 200 });
  const waiting: string[] = [];
  let isClosed = false;
  let wake = () => {};
  terminal.on("line", (line) => {
    waiting.push(line);
    wake();
  });
  terminal.on("close", () => {
    isClosed = true;
    wake();
  });
  terminal.on("error", () => terminal.close()); // a terminal that is gone is the end of the input
  terminal.on("SIGINT", () => {
    if (onInterrupt()) return;
    if (terminal.line === "") terminal.close();
    else terminal.write(null, { ctrl: true, name: "u" });
  });
  async function* lines() {
    try {
      for (;;) {
        const line = waiting.shift();
        if (line !== undefined) yield line;
        else if (isClosed) return;
        else {
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          await promise;
        }
      }
    } finally {
      terminal.close();
    }
  }
  return { lines: lines(), prompt: () => terminal.prompt() };
}
