import { DomainError } from "../../../internal/base/errors.ts";
import { leaveRawMode } from "../../../internal/cli/raw-mode.ts";
import type { CaContext } from "./context.ts";

const ENTER = /[\r\n\x04]/;
const INTERRUPT = "\x03";
const BACKSPACE = /[\b\x7f]/;
const CLEAR_LINE = "\x15";

/**
 * Reads one line from the terminal without echoing it. The question goes to stderr.
 * @throws DomainError `cancelled` for Ctrl-C; `unauthenticated` if the terminal is closed first
 */
export async function readHidden({ stdin, stderr, signal }: CaContext, question: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let typed: string[] = [];
  const onData = (text: string) => {
    const keys = [...text];
    for (const [i, key] of keys.entries()) {
      if (ENTER.test(key)) {
        stdin.off("data", onData).pause();
        if (i + 1 < keys.length) stdin.unshift(keys.slice(i + 1).join("")); // the beginning of the next answer
        return resolve(typed.join(""));
      }
      if (key === INTERRUPT) return reject(new DomainError("cancelled", "interrupted"));
      if (BACKSPACE.test(key)) typed.pop();
      else if (key === CLEAR_LINE) typed = [];
      else typed.push(key);
    }
  };
  const onAbort = () => reject(signal.reason);
  const onEnd = () => reject(new DomainError("unauthenticated", "the terminal was closed"));
  // This listener stays: a terminal that is gone may report an error twice.
  stdin.on("error", onEnd);
  stdin.setRawMode(true).setEncoding("utf8").on("data", onData).on("end", onEnd).resume();
  stderr.write(question);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
    stdin.off("data", onData).off("end", onEnd).pause();
    leaveRawMode(stdin);
    stderr.write("\n");
  }
}
