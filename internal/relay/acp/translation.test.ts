import { describe, expect, it } from "vitest";
import { readJson } from "./json-text.ts";
import { mcpRequest } from "./mcp-request.ts";
import { rejection, resultBody } from "./result-parts.ts";
import { answerOfError, answerOfResult } from "./sampling-answer.ts";
import { defaultSampling, seedRequest } from "./sampling-request.ts";
import { taskText, userMessages } from "./user-message.ts";
import { isRefusal, readWork, type WorkMessage } from "./work-message.ts";

const PLACE = { sessionId: "sess_123", role: "coding", maxBytes: 4096 };

function work(body: object | string): WorkMessage {
  const read = readWork(Buffer.from(typeof body === "string" ? body : JSON.stringify(body)), PLACE);
  if (isRefusal(read)) throw new Error(read.reason);
  return read;
}

function published(result: string): readonly string[] {
  const { parts } = answerOfResult(readJson(result));
  return parts.map((part, index) =>
    resultBody(part, { id: "msg_123", sessionId: "sess_123", part: index + 1, parts: parts.length }),
  );
}

describe("the example of the relay's requirements", () => {
  it("becomes a sampling request, byte for byte", () => {
    const message = work(
      '{"id":"msg_123","type":"work.coding","payload":{"task":"Implement authentication","requirements":["JWT",{"n":1}]}}',
    );
    const settings = { ...defaultSampling("coding"), tools: [{ name: "bash" }] };
    expect(seedRequest(message.id, userMessages(message), settings)).toBe(
      '{"jsonrpc":"2.0","id":"msg_123","method":"sampling/createMessage","params":{"messages":[{"role":"user",' +
        '"content":"Implement authentication. Requirements: JWT; {\\"n\\":1}"}],"model":"claude-sonnet-4",' +
        '"max_tokens":4096,"system":"You are a coding agent.","tools":[{"name":"bash"}]}}',
    );
  });

  it("has its answer published, byte for byte", () => {
    const result =
      '{"role":"assistant","content":[{"type":"tool_use","name":"bash","id":"tool_1",' +
      '"input":{"command":"git checkout -b auth-feature","big":9007199254740993}}]}';
    expect(published(result)).toEqual([
      '{"id":"msg_123","session_id":"sess_123","type":"tool_use","payload":{"tool_name":"bash","tool_id":"tool_1",' +
        '"input":{"command":"git checkout -b auth-feature","big":9007199254740993}}}',
    ]);
  });
});

it.each<[string, object, string]>([
  ["without requirements", { task: "Do it" }, "Do it"],
  ["with none in the list", { task: "Do it", requirements: [] }, "Do it"],
  ["ending in a full stop", { task: "Do it.", requirements: ["a"] }, "Do it. Requirements: a"],
  [
    "ending in a question mark",
    { task: "Can you?", requirements: ["a", 5, null] },
    "Can you? Requirements: a; 5; null",
  ],
])("joins a task %s", (_how, payload, text) => {
  expect(taskText(payload as never)).toBe(text);
});

it("sends a tool's result as the user's message", () => {
  const result = work({ id: "m", type: "tool_result", payload: { tool_id: "t", content: "out", is_error: true } });
  expect(userMessages(result)).toEqual([
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "out", is_error: true }] },
  ]);
});

describe("an answer", () => {
  it("of texts is one success, the last part, with reason and usage", () => {
    const result =
      '{"content":[{"type":"text","text":"a"},{"type":"image","data":"x"},{"type":"text","text":"b"}],' +
      '"stop_reason":"end_turn","usage":{"output_tokens":3}}';
    expect(published(result)).toEqual([
      '{"id":"msg_123","session_id":"sess_123","type":"result.partial","payload":{"block":{"type":"image","data":"x"}},"part":1,"parts":2}',
      '{"id":"msg_123","session_id":"sess_123","type":"result.success","payload":{"text":"ab","stop_reason":"end_turn","usage":{"output_tokens":3}},"part":2,"parts":2}',
    ]);
  });

  it("with text beside a tool use has the text as a partial, in order", () => {
    const { parts } = answerOfResult({
      content: [
        { type: "text", text: "first" },
        { type: "tool_use", name: "bash", id: "1", input: {} },
      ],
    });
    expect(parts.map(({ type }) => type)).toEqual(["result.partial", "tool_use"]);
  });

  it("without content is a failure of the agent's protocol", () => {
    for (const result of [null, {}, "text", { content: [5] }]) {
      expect(answerOfResult(result).parts).toMatchObject([
        { type: "result.failure", payload: { code: -32006, reason: "agent_protocol" } },
      ]);
    }
  });

  it("that is an error is a failure with the agent's code and data", () => {
    expect(answerOfError({ code: -1, message: "no model", data: { a: 1 } }).parts).toEqual([
      { type: "result.failure", payload: { error: "no model", code: -1, data: { a: 1 } } },
    ]);
  });
});

it("asks an MCP client with the names of MCP", () => {
  const messages = [
    { role: "user", content: "go" },
    { role: "assistant", content: [{ type: "tool_use", name: "bash", id: "t", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "out", is_error: false }] },
  ];
  const settings = { ...defaultSampling("coding"), tools: [{ name: "bash", input_schema: { type: "object" } }] };
  expect(JSON.parse(mcpRequest("1", messages, settings)).params).toEqual({
    messages: [
      { role: "user", content: { type: "text", text: "go" } },
      messages[1],
      {
        role: "user",
        content: [{ type: "tool_result", toolUseId: "t", content: [{ type: "text", text: "out" }], isError: false }],
      },
    ],
    modelPreferences: { hints: [{ name: "claude-sonnet-4" }] },
    systemPrompt: "You are a coding agent.",
    maxTokens: 4096,
    tools: [{ name: "bash", inputSchema: { type: "object" } }],
  });
});

describe("work", () => {
  it.each<[string, string | object, string]>([
    ["no JSON", "{", "invalid_message"],
    ["no object", "[]", "invalid_message"],
    ["no id", { type: "work.coding", payload: { task: "x" } }, "invalid_message"],
    ["a number as id", { id: 5, type: "work.coding", payload: { task: "x" } }, "invalid_message"],
    ["no task", { id: "1", type: "work.coding", payload: {} }, "invalid_message"],
    [
      "requirements that are not a list",
      { id: "1", type: "work.coding", payload: { task: "", requirements: 1 } },
      "invalid_message",
    ],
    [
      "another session",
      { id: "1", session_id: "other", type: "work.coding", payload: { task: "x" } },
      "session_mismatch",
    ],
    ["another role", { id: "1", type: "work.testing", payload: { task: "x" } }, "unknown_type"],
    ["a result without a tool", { id: "1", type: "tool_result", payload: { content: "x" } }, "invalid_message"],
    ["5 KiB", { id: "1", type: "work.coding", payload: { task: "x".repeat(5000) } }, "too_large"],
  ])("of %s is refused", (_what, body, reason) => {
    const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
    expect(readWork(bytes, PLACE)).toMatchObject({ reason });
  });

  it("that is too large is refused with its id, under which the publisher gets a result", () => {
    const body = (id: unknown) => Buffer.from(JSON.stringify({ payload: { task: "x".repeat(5000) }, id }));
    expect(readWork(body("big"), PLACE)).toEqual({ reason: "too_large", id: "big" });
    expect(readWork(body(5), PLACE)).toEqual({ reason: "too_large", id: undefined });
    expect(readWork(Buffer.alloc(5000, "x"), PLACE)).toEqual({ reason: "too_large", id: undefined });
  });

  it("that is not UTF-8 is refused", () => {
    expect(readWork(Buffer.from([0x22, 0xff, 0x22]), PLACE)).toMatchObject({ reason: "invalid_message" });
  });

  it("has the same hash whatever the order of its keys, and different work has another", () => {
    const one = work('{"id":"1","type":"work.coding","payload":{"task":"x","continue":true}}');
    const other = work('{"payload":{"continue":true,"task":"x"},"type":"work.coding","id":"1"}');
    expect(other.hash).toBe(one.hash);
    expect(work('{"id":"1","type":"work.coding","payload":{"task":"y"}}').hash).not.toBe(one.hash);
  });
});

describe("the result of rejected work", () => {
  const published = (reason: string) =>
    resultBody(rejection(reason), { id: "w", sessionId: "sess_123", part: 1, parts: 1 });

  it("has the code of a reason that the relay also gives an answer", () => {
    expect(published("too_large")).toBe(
      '{"id":"w","session_id":"sess_123","type":"result.failure","payload":' +
        '{"error":"the work was rejected: too_large","code":-32003,"reason":"too_large"}}',
    );
  });

  it("has no code for other reasons", () => {
    expect(published("expired")).toBe(
      '{"id":"w","session_id":"sess_123","type":"result.failure","payload":' +
        '{"error":"the work was rejected: expired","reason":"expired"}}',
    );
  });
});
