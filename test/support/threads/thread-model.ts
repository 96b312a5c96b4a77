import type { ModelAct } from "../../fakes/model-script.ts";
import type { ModelRequest } from "../../fakes/model-wire.ts";

/** A message as the tool returned it to the model. */
interface ReadByModel {
  readonly thread_id: string;
  readonly message_id: string;
  readonly seq: number;
  readonly text: string;
  readonly kind: string;
  readonly event_type?: string;
  readonly sender: { readonly agent_id: string };
}

/** Returns the post that answers a message that the model has read; undefined: the model only acknowledges it. */
export type ModelReply = (message: ReadByModel) => Readonly<Record<string, unknown>> | undefined;

const MAX_LINE = 600;
const WAKE = /^\[threads w-\S+\] .*\((t-[a-z0-9]+)\)/;

/**
 * A model that knows only the wake's line and its tools' results. When it is woken, it reads the thread that the line
 * names, answers the newest message with `reply`, and acknowledges it.
 */
export function threadModel(reply: ModelReply): (request: ModelRequest) => ModelAct {
  return (request) => {
    if (request.afterTool) return afterTool(request, reply);
    const thread_id = WAKE.exec(request.lastUserText)?.[1];
    if (thread_id === undefined || !hasThreadTools(request.tools)) return { type: "say", text: "Understood." };
    return toolCall(request.tools, "read_messages", { thread_id });
  };
}

/** Records the requests to a model and its actions, to explain a failed test. */
export class ModelLog {
  readonly #model: (request: ModelRequest) => ModelAct;
  readonly #lines: string[] = [];

  constructor(model: (request: ModelRequest) => ModelAct) {
    this.#model = model;
  }

  /** One line for each request, oldest first. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  act(request: ModelRequest): ModelAct {
    const act = this.#model(request);
    const { at, afterTool, toolResult, lastUserText, tools } = request;
    const asked = afterTool ? `result ${toolResult}` : `text ${lastUserText}`;
    const offered = hasThreadTools(tools) ? "" : " (no threads tools)";
    this.#lines.push(`${new Date(at).toISOString()} ${cut(asked)}${offered} -> ${cut(JSON.stringify(act))}`);
    return act;
  }
}

function cut(text: string): string {
  return text.length <= MAX_LINE ? text : `${text.slice(0, MAX_LINE)}…`;
}

/** Each agent program names the tools of an MCP server in its own way. */
export function hasThreadTools(tools: readonly string[]): boolean {
  return tools.some((name) => name === "mcp__threads" || /^(?:mcp__)?threads_{1,2}read_messages$/.test(name));
}

function afterTool({ toolResult, tools }: ModelRequest, reply: ModelReply): ModelAct {
  const { messages } = objectIn(toolResult) as { readonly messages?: readonly ReadByModel[] };
  const heard = messages?.findLast((one) => one.kind !== "system");
  if (heard === undefined) return { type: "say", text: `Done: ${toolResult.slice(0, 200)}` };
  const { thread_id, seq } = heard;
  const said = reply(heard);
  if (said === undefined) return toolCall(tools, "ack_read", { thread_id, seq });
  return toolCall(tools, "post_message", { thread_id, in_reply_to: heard.message_id, ack_seq: seq, ...said });
}

function toolCall(tools: readonly string[], name: string, input: Readonly<Record<string, unknown>>): ModelAct {
  if (tools.includes("mcp__threads")) return { type: "call", tool: name, namespace: "mcp__threads", input };
  const tool = tools.find((one) => one.endsWith(`threads__${name}`) || one === `threads_${name}`);
  if (tool === undefined) return { type: "say", text: `There is no tool ${name}.` };
  return { type: "call", tool, input };
}

/** Finds the tool's answer in the text into which the agent program puts it. */
function objectIn(text: string): object {
  const at = text.indexOf("{");
  if (at < 0) return {};
  try {
    return JSON.parse(text.slice(at, text.lastIndexOf("}") + 1)) as object;
  } catch {
    return {};
  }
}
