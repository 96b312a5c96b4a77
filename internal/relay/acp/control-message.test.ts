import { expect, it } from "vitest";
import { readControl } from "./control-message.ts";

it.each<[string, string, object]>([
  ["a cancel", '{"id":"1","type":"cancel"}', { type: "cancel", id: "1", by: "control" }],
  ["a cancel by name", '{"id":"1","type":"cancel","payload":{"by":"ann"}}', { type: "cancel", id: "1", by: "ann" }],
  ["a cancel of nothing", '{"type":"cancel"}', { reason: "invalid_message" }],
  [
    "text to steer by",
    '{"type":"steer","payload":{"text":"x"}}',
    { type: "steer", prompt: [{ type: "text", text: "x" }] },
  ],
  ["blocks to steer by", '{"id":"1","type":"steer","payload":{"prompt":[{"a":1}]}}', { id: "1", prompt: [{ a: 1 }] }],
  ["a steer without text", '{"type":"steer","payload":{"prompt":[]}}', { reason: "invalid_message" }],
  ["a question", '{"session_id":"s","type":"status"}', { type: "status", id: undefined }],
  ["another session's", '{"session_id":"t","type":"status"}', { reason: "session_mismatch" }],
  ["an unknown type", '{"type":"stop"}', { reason: "unknown_type" }],
  ["no object", "[1]", { reason: "invalid_message" }],
  ["no JSON", "{", { reason: "invalid_message" }],
])("reads %s", (_what, text, expected) => {
  expect(readControl(text, "s")).toMatchObject(expected);
});
