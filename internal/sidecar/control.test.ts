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
  ['{"type":"stop","graceMs":0,"force":false}', { type: "stop", graceMs: 0, force: false }],
  ['{"type":"stop","graceMs":500,"force":true}', { type: "stop", graceMs: 500, force: true }],
  ['{"type":"stop","graceMs":-1,"force":true}', undefined],
  ['{"type":"stop","graceMs":"7"}', undefined],
  ['{"type":"stop"}', undefined],
  ["null", undefined],
  ["[]", undefined],
  ["7", undefined],
  ["", undefined],
  ["not json", undefined],
])("%s", (line, message) => {
  expect(parseControlMessage(line)).toEqual(message);
});
