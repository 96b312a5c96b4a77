import type { Clock } from "../../../../internal/base/clock.ts";
import { plainText } from "../../../../internal/base/sanitise.ts";
import { Output } from "../../../../internal/cli/output.ts";
import type { MainContext } from "../../../../internal/cli/run-main.ts";

/** What every command works with. */
export interface CommandContext {
  readonly out: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  /** `gt: error: …` on stderr, with a `gt: hint: …` line when there is one. */
  error(message: string, hint: string): void;
  /** `gt: note: …` on stderr: information beyond the requested output. */
  note(message: string): void;
}

export function commandContext(main: MainContext): CommandContext {
  const say = (word: string, text: string) =>
    main.stderr.write(`gt: ${word}: ${plainText(text).replaceAll("\n", " ")}\n`);
  return {
    out: new Output(main.stdout, main.env),
    env: main.env,
    signal: main.signal,
    clock: main.clock,
    get stdin() {
      return main.stdin;
    },
    stdout: main.stdout,
    error: (message, hint) => {
      say("error", message);
      if (hint !== "") say("hint", hint);
    },
    note: (message) => say("note", message),
  };
}
