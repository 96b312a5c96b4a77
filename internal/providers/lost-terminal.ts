import { DomainError } from "../base/errors.ts";
import type { LaunchedTerminal } from "../bridge/terminal-launcher.ts";
import type { TerminalRecord } from "./terminal-record.ts";

/** A session whose agent has ended with an earlier daemon: it is named, and nothing of it can be reached. */
export function lostTerminal({ pid }: Pick<TerminalRecord, "pid">): LaunchedTerminal {
  const gone = () => new DomainError("unavailable", "the agent has ended with the bridge that had started it");
  return {
    terminal: {
      unary: () => Promise.reject(gone()),
      stream: () => failing(gone),
      attach: () => failing(gone),
    },
    pid,
    agent: "",
    ended: Promise.resolve({ error: "the bridge ended while the session ran, and its agent with it" }),
    stop: async () => {},
  };
}

function failing(error: () => DomainError): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error()) }) };
}
