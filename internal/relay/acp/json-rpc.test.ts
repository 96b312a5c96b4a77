import { expect, it } from "vitest";
import { readFrame } from "./json-rpc.ts";

it.each<[string, object]>([
  ['{"jsonrpc":"2.0","id":"1","result":{}}', { type: "result", id: "1", result: {} }],
  ['{"jsonrpc":"2.0","id":1,"result":null}', { type: "result", id: 1, result: null }],
  ['{"jsonrpc":"2.0","id":"1","error":{"code":1}}', { type: "error", id: "1", error: { code: 1 } }],
  ['{"jsonrpc":"2.0","id":2,"method":"m","params":[1]}', { type: "request", id: 2, method: "m", params: [1] }],
  ['{"jsonrpc":"2.0","method":"m"}', { type: "notification", method: "m" }],
  ["{", { type: "invalid", id: null, code: -32700 }],
  ['[{"jsonrpc":"2.0","id":"1","result":{}}]', { type: "invalid", id: null, code: -32600 }],
  ['{"id":"1","result":{}}', { type: "invalid", id: "1", code: -32600 }],
  ['{"jsonrpc":"2.0","id":{},"result":{}}', { type: "invalid", id: null, code: -32600 }],
  ['{"jsonrpc":"2.0","id":"1"}', { type: "invalid", id: "1", code: -32600 }],
  ['{"jsonrpc":"2.0","id":"1","result":1,"error":{}}', { type: "invalid", id: "1", code: -32600 }],
  ['{"jsonrpc":"2.0","id":"1","method":"m","result":1}', { type: "invalid", id: "1", code: -32600 }],
  ['{"jsonrpc":"2.0","id":null,"method":"m"}', { type: "invalid", id: null, code: -32600 }],
])("reads %s", (text, frame) => {
  expect(readFrame(text)).toMatchObject(frame);
});
