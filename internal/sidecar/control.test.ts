import { expect, it } from "vitest";
import { parseControlMessage } from "./control.ts";

it.each([
  ['{"type":"alive"}', { type: "alive" }],
  ['{"type":"alive","more":1}', { type: "alive" }],
  ['{"type":"finish","exitCode":0}', { type: "finish", exitCode: 0 }],
  ['{"type":"finish","exitCode":255}', { type: "finish", exitCode: 255 }],
  ['{"type":"finish","exitCode":256}', undefined],
  ['{"type":"finish","exitCode":-1}', undefined],
  ['{"type":"finish","exitCode":1.5}', undefined],
  ['{"type":"finish","exitCode":"0"}', undefined],
  ['{"type":"finish"}', undefined],
  ['{"type":"stop"}', undefined],
  ["null", undefined],
  ["[]", undefined],
  ["7", undefined],
  ["", undefined],
  ["not json", undefined],
])("%s", (line, message) => {
  expect(parseControlMessage(line)).toEqual(message);
});
