import type { Clock } from "../../base/clock.ts";
import { plainText } from "../../base/sanitise.ts";
import { Output } from "../output.ts";
import type { MainContext } from "../run-main.ts";

/** The streams, arguments and environment that every command gets. */
export interface CommandContext {
  readonly out: Output;
  readonly err: Output;
  /** The arguments after the command's name, not parsed yet. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** `PROGRAM: error: …` on stderr, with a `PROGRAM: hint: …` line when there is one. */
  error(message: string, hint: string): void;
  /** `PROGRAM: note: …` on stderr: information beyond the requested output. */
  note(message: string): void;
}

export function commandContext(program: string, argv: readonly string[], main: MainContext): CommandContext {
  const { env, signal, clock, stdout, stderr } = main;
  const say = (word: string, text: string) =>
    stderr.write(`${program}: ${word}: ${plainText(text).replaceAll("\n", " ")}\n`);
  return {
    ...{ argv, env, signal, clock, stdout, stderr },
    out: new Output(stdout, env),
    err: new Output(stderr, env),
    get stdin() {
      return main.stdin;
    },
    error: (message, hint) => {
      say("error", message);
      if (hint !== "") say("hint", hint);
    },
    note: (message) => say("note", message),
  };
}
