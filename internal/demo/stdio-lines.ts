/** A line of input: one JSON object. */
export type StdioRequest =
  | { readonly type: "message"; readonly id: string; readonly text: string }
  /** `choice`: position in the list, from 0; any other number declines. */
  | { readonly type: "answer"; readonly id: string; readonly choice: number };

/** A line of output: one JSON object. */
export type StdioReply =
  | { readonly type: "ready"; readonly protocol: number; readonly session: string }
  /** The message was read. `held`: the agent is working, and takes the message later. */
  | { readonly type: "taken"; readonly id: string; readonly held: boolean }
  /** The turn on that message begins, or is over. */
  | { readonly type: "started" | "done"; readonly id: string }
  /** A piece of the agent's answer, line ends included. */
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool"; readonly call: string; readonly result: string }
  /** The agent is waiting for an answer. */
  | {
      readonly type: "asks";
      readonly id: string;
      readonly kind: "permission" | "question";
      readonly title: string;
      readonly text: string;
      readonly choices: readonly string[];
    }
  | { readonly type: "error"; readonly text: string };

/** Undefined for a line that is not a request. */
export function readStdioRequest(line: string): StdioRequest | undefined {
  const value = parse(line);
  const { type, id, text, choice } = value ?? {};
  if (typeof id !== "string") return undefined;
  if (type === "message" && typeof text === "string") return { type, id, text };
  if (type === "answer" && typeof choice === "number") return { type, id, choice };
  return undefined;
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
