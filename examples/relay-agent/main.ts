// An agent that dials into a relay and speaks the relay's own wire: each request is answered with a tool use, and the
// tool's result with a text. Replace `answer` with a call of your model.
//
//   node examples/relay-agent/main.ts [URL]    default: ws://127.0.0.1:8080/acp/sess_123/coding?agent_id=agent_abc
import { WebSocket } from "ws";

interface Block {
  readonly type: string;
  readonly [key: string]: unknown;
}
interface SamplingRequest {
  readonly jsonrpc: "2.0";
  readonly id: string;
  readonly method: string;
  readonly params: {
    readonly messages: readonly { readonly role: string; readonly content: string | readonly Block[] }[];
  };
}

const url = process.argv[2] ?? "ws://127.0.0.1:8080/acp/sess_123/coding?agent_id=agent_abc";
const LONGEST_MS = 10_000;
let failures = 0;
let timer: NodeJS.Timeout | undefined;
let socket = dial();

/**
 * Connects, and reconnects after growing delays whenever the connection ends, unless a newer connection has superseded
 * it.
 */
function dial(): WebSocket {
  const dialled = new WebSocket(url);
  dialled.on("message", (data) => receive(dialled, JSON.parse(data.toString())));
  dialled.on("error", (err) => console.error(`relay-agent: ${err.message}`));
  dialled.on("close", (code) => {
    if (code === 4001) return console.error("relay-agent: superseded by a newer connection of this agent");
    const waitMs = Math.min(LONGEST_MS, 100 * 2 ** failures++) * (0.8 + 0.4 * Math.random());
    timer = setTimeout(() => {
      socket = dial();
    }, waitMs);
  });
  return dialled;
}

function receive(from: WebSocket, frame: SamplingRequest | { readonly type: string }): void {
  if ("type" in frame) {
    failures = 0;
    console.log(JSON.stringify(frame)); // connection.established
    return;
  }
  if (frame.method !== "sampling/createMessage") {
    const error = { code: -32601, message: "method not found" };
    from.send(JSON.stringify({ jsonrpc: "2.0", id: frame.id, error }));
    return;
  }
  from.send(JSON.stringify({ jsonrpc: "2.0", id: frame.id, result: { role: "assistant", ...answer(frame) } }));
}

function answer({ params }: SamplingRequest): { readonly content: readonly Block[]; readonly stop_reason: string } {
  const content = params.messages.at(-1)?.content ?? "";
  const result = typeof content === "string" ? undefined : content.find(({ type }) => type === "tool_result");
  if (result === undefined) {
    const input = { command: "git checkout -b auth-feature" };
    return { content: [{ type: "tool_use", name: "bash", id: "tool_1", input }], stop_reason: "tool_use" };
  }
  const text = `The tool said: ${JSON.stringify(result["content"])}. Done.`;
  return { content: [{ type: "text", text }], stop_reason: "end_turn" };
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    clearTimeout(timer);
    socket.removeAllListeners("close");
    socket.close();
  });
}
