import type { ModelAct } from "./model-script.ts";

/** One request of an agent, reduced to the facts that tests need. */
export interface ModelRequest {
  readonly api: "messages" | "responses" | "chat";
  readonly at: number;
  /** False for the small side requests (titles, topic checks) that agents make. */
  readonly withTools: boolean;
  /** Tools in a namespace are also listed as `NAMESPACE.TOOL`. */
  readonly tools: readonly string[];
  /** Every text of the user side in this conversation, oldest first, one entry per text block. */
  readonly userTexts: readonly string[];
  /** The last of these texts that is not the agent's own reminder. */
  readonly lastUserText: string;
  /** The conversation ends with a tool's result. */
  readonly afterTool: boolean;
  /** The last tool's result as text; empty without one. */
  readonly toolResult: string;
  readonly stream: boolean;
}

type Json = Record<string, unknown>;

const asArray = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const asText = (value: unknown): string => (typeof value === "string" ? value : "");

function textBlocks(content: unknown): string[] {
  if (typeof content === "string") return [content];
  return asArray(content)
    .filter((block) => block["type"] === "text" || block["type"] === "input_text")
    .map((block) => asText(block["text"]));
}

const contentText = (content: unknown): string => textBlocks(content).join("\n");

const isReminder = (text: string): boolean =>
  /^\s*<(system-reminder|environment_context|user_instructions|INSTRUCTIONS|permissions|turn_aborted)/.test(text);

function nameOf(tool: Json): string {
  return asText(tool["name"]) || asText((tool["function"] as Json | undefined)?.["name"]) || asText(tool["type"]);
}

function reduced(
  api: ModelRequest["api"],
  body: Json,
  at: number,
  userTexts: string[],
  afterTool: boolean,
  toolResult: string,
): ModelRequest {
  const tools = asArray(body["tools"]).flatMap((tool) => {
    const inside = asArray(tool["tools"]).map((each) => `${nameOf(tool)}.${nameOf(each)}`);
    return [nameOf(tool), ...inside];
  });
  const lastUserText = userTexts.findLast((text) => text.trim() !== "" && !isReminder(text)) ?? "";
  return {
    api,
    at,
    withTools: tools.length > 0,
    tools,
    userTexts,
    lastUserText,
    afterTool,
    toolResult,
    stream: body["stream"] === true,
  };
}

export function readMessages(body: Json, at: number): ModelRequest {
  const messages = asArray(body["messages"]);
  const users = messages.filter((message) => message["role"] === "user");
  const last = asArray(users.at(-1)?.["content"]);
  const result = last.findLastIndex((block) => block["type"] === "tool_result");
  const said = textBlocks(last.slice(result + 1)).some((text) => text.trim() !== "" && !isReminder(text));
  const afterTool = result >= 0 && !said;
  return reduced(
    "messages",
    body,
    at,
    users.flatMap((message) => textBlocks(message["content"])),
    afterTool,
    contentText(last[result]?.["content"]),
  );
}

export function readResponses(body: Json, at: number): ModelRequest {
  const input =
    typeof body["input"] === "string" ? [{ role: "user", content: body["input"] } as Json] : asArray(body["input"]);
  const users = input.filter((item) => item["role"] === "user");
  const isResult = (item: Json | undefined) => asText(item?.["type"]).endsWith("_output");
  return reduced(
    "responses",
    body,
    at,
    users.flatMap((item) => textBlocks(item["content"])),
    isResult(input.at(-1)),
    contentText(input.findLast(isResult)?.["output"]),
  );
}

export function readChat(body: Json, at: number): ModelRequest {
  const messages = asArray(body["messages"]);
  const users = messages.filter((message) => message["role"] === "user");
  return reduced(
    "chat",
    body,
    at,
    users.flatMap((m) => textBlocks(m["content"])),
    messages.at(-1)?.["role"] === "tool",
    contentText(messages.findLast((message) => message["role"] === "tool")?.["content"]),
  );
}

/** One server-sent event: its name (none for chat completions) and its data. */
export interface Frame {
  readonly event?: string;
  readonly data: unknown;
  /** True for the frames between which a slow model pauses. */
  readonly word?: boolean;
}

const words = (text: string): string[] => text.match(/\S+\s*/g) ?? [text];

export function messagesFrames(act: ModelAct, id: string): Frame[] {
  const named = (event: string, data: Json, word = false): Frame => ({ event, data: { type: event, ...data }, word });
  const start = {
    id,
    type: "message",
    role: "assistant",
    model: "pretended",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 1 },
  };
  const block =
    act.type === "call"
      ? { type: "tool_use", id: `toolu_${id}`, name: act.tool, input: {} }
      : { type: "text", text: "" };
  const deltas =
    act.type === "call"
      ? [
          named("content_block_delta", {
            index: 0,
            delta: { type: "input_json_delta", partial_json: JSON.stringify(act.input) },
          }),
        ]
      : words(act.type === "say" ? act.text : "").map((text) =>
          named("content_block_delta", { index: 0, delta: { type: "text_delta", text } }, true),
        );
  const stopReason = act.type === "call" ? "tool_use" : "end_turn";
  return [
    named("message_start", { message: start }),
    named("content_block_start", { index: 0, content_block: block }),
    ...deltas,
    named("content_block_stop", { index: 0 }),
    named("message_delta", { delta: { stop_reason: stopReason, stop_sequence: null }, usage: { output_tokens: 20 } }),
    named("message_stop", {}),
  ];
}

/** The same answer as one JSON body, for a request without `stream`. */
export function messagesBody(act: ModelAct, id: string): Json {
  const content =
    act.type === "call"
      ? [{ type: "tool_use", id: `toolu_${id}`, name: act.tool, input: act.input }]
      : [{ type: "text", text: act.type === "say" ? act.text : "" }];
  return {
    id,
    type: "message",
    role: "assistant",
    model: "pretended",
    content,
    stop_reason: act.type === "call" ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 20 },
  };
}

export function responsesFrames(act: ModelAct, id: string): Frame[] {
  const named = (event: string, data: Json, word = false): Frame => ({ event, data: { type: event, ...data }, word });
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 20,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 30,
  };
  const completed = named("response.completed", { response: { id, status: "completed", output: [], usage } });
  const created = named("response.created", { response: { id, status: "in_progress", output: [] } });
  if (act.type === "call") {
    const item = {
      id: `fc_${id}`,
      type: "function_call",
      status: "completed",
      name: act.tool,
      namespace: act.namespace,
      arguments: JSON.stringify(act.input),
      call_id: `call_${id}`,
    };
    return [
      created,
      named("response.output_item.added", { output_index: 0, item }),
      named("response.output_item.done", { output_index: 0, item }),
      completed,
    ];
  }
  const text = act.type === "say" ? act.text : "";
  const item = {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, annotations: [] }],
  };
  return [
    created,
    named("response.output_item.added", { output_index: 0, item: { ...item, status: "in_progress", content: [] } }),
    ...words(text).map((delta) =>
      named("response.output_text.delta", { item_id: item.id, output_index: 0, content_index: 0, delta }, true),
    ),
    named("response.output_item.done", { output_index: 0, item }),
    completed,
  ];
}

export function chatFrames(act: ModelAct, id: string): Frame[] {
  const chunk = (delta: Json, finish: string | null, word = false): Frame => ({
    data: {
      id,
      object: "chat.completion.chunk",
      created: 1,
      model: "pretended",
      choices: [{ index: 0, delta, finish_reason: finish }],
    },
    word,
  });
  if (act.type === "call") {
    const call = {
      index: 0,
      id: `call_${id}`,
      type: "function",
      function: { name: act.tool, arguments: JSON.stringify(act.input) },
    };
    return [chunk({ role: "assistant", tool_calls: [call] }, null), chunk({}, "tool_calls"), { data: "[DONE]" }];
  }
  const text = act.type === "say" ? act.text : "";
  return [
    chunk({ role: "assistant", content: "" }, null),
    ...words(text).map((content) => chunk({ content }, null, true)),
    chunk({}, "stop"),
    { data: "[DONE]" },
  ];
}
