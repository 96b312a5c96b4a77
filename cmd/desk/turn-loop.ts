import type { z } from "zod";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import type { ModeOptions } from "./config.ts";
import { type InputLine, inputLines, typedLines, wholeInput } from "./input-lines.ts";

/** The end of a turn. */
export type Outcome = "done" | "refused" | "failed" | "unknown";

/** One side of the desk, as its mode's loop drives it. */
export interface Side {
  readonly prompt: string;
  readonly inputBytes: number;
  /** Runs a turn and prints it. */
  turn(text: string, given: LineFields, signal: AbortSignal): Promise<Outcome>;
  /** An input that was refused, and the reason. */
  refuse(reason: string): void;
  /** A line that is not an input. */
  faulty(reason: string): void;
  readonly fields: z.ZodType<{ readonly text: string } & LineFields>;
}

interface LineFields {
  readonly thread?: string | undefined;
  readonly to?: string | undefined;
}

/** Exit codes of `--once`. */
const CODES: Readonly<Record<Outcome, number>> = { done: 0, failed: 4, refused: 6, unknown: 7 };
/** The most bytes in JSON for each byte of a text, as in `\u0000`. */
const JSON_BYTES = 6;
const WORDS = { "too long": "the text is too long", "not text": "the text is not UTF-8" } as const;

/** Runs a turn for each input, one after the other, until the inputs end. Returns the exit code. */
export async function runLoop(side: Side, input: ModeOptions["input"], context: CommandContext): Promise<number> {
  if (input === "once") return await runOnce(side, context);
  if (input === "jsonl") return await runJsonLines(side, context);
  if (context.stdin.isTTY && context.stdout.isTTY) return await runTyped(side, context);
  for await (const line of inputLines(context.stdin, side.inputBytes)) {
    if (line.type === "text" && isEnd(line.text)) return 0;
    await runInput(side, line, context.signal);
    context.signal.throwIfAborted();
  }
  return 0;
}

async function runOnce(side: Side, { stdin, signal }: CommandContext): Promise<number> {
  const line = await wholeInput(stdin, side.inputBytes);
  return CODES[await runInput(side, line, signal)];
}

async function runInput(side: Side, line: InputLine, signal: AbortSignal): Promise<Outcome> {
  if (line.type === "text") return await side.turn(line.text, {}, signal);
  side.refuse(WORDS[line.type]);
  return "refused";
}

async function runJsonLines(side: Side, { stdin, signal }: CommandContext): Promise<number> {
  for await (const line of inputLines(stdin, side.inputBytes * JSON_BYTES + 1024)) {
    const read = line.type === "text" ? jsonOf(line.text) : undefined;
    const parsed = side.fields.safeParse(read);
    if (!parsed.success) {
      side.faulty(line.type === "text" ? 'the line is not an input: {"text", …}' : WORDS[line.type]);
      continue;
    }
    const { text, ...given } = parsed.data;
    await side.turn(text, given, signal);
    signal.throwIfAborted();
  }
  return 0;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function runTyped(side: Side, context: CommandContext): Promise<number> {
  let turn: AbortController | undefined;
  const typed = typedLines(context, side.prompt, () => {
    turn?.abort(new Error("interrupted"));
    return turn !== undefined;
  });
  const stop = () => void typed.lines.return();
  context.signal.addEventListener("abort", stop, { once: true });
  typed.prompt();
  for await (const line of typed.lines) {
    if (isEnd(line)) break;
    if (line !== "") {
      turn = new AbortController();
      await side.turn(line, {}, AbortSignal.any([context.signal, turn.signal]));
      turn = undefined;
    }
    context.signal.throwIfAborted();
    typed.prompt();
  }
  context.signal.removeEventListener("abort", stop);
  return 0;
}

function isEnd(line: string): boolean {
  return line === "exit" || line === "quit";
}
