import { expect, it } from "vitest";
import { parseControlAnswer, parseControlMessage } from "./halves-link-messages.ts";

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
  ['{"type":"process","id":0,"pid":7,"work":true}', { type: "process", id: 0, pid: 7, work: true, files: false }],
  ['{"type":"process","id":1,"pid":7,"files":true}', { type: "process", id: 1, pid: 7, work: false, files: true }],
  ['{"type":"process","id":1,"pid":0}', undefined],
  ['{"type":"process","id":1,"pid":-7}', undefined],
  ['{"type":"process","id":1,"pid":"1/../self"}', undefined],
  ['{"type":"process","pid":7}', undefined],
  ['{"type":"oom-kills","id":4}', { type: "oom-kills", id: 4 }],
  ['{"type":"oom-kills"}', undefined],
  ["null", undefined],
  ["[]", undefined],
  ["7", undefined],
  ["", undefined],
  ["not json", undefined],
])("the supervising half understands %s", (line, message) => {
  expect(parseControlMessage(line)).toEqual(message);
});

it.each([
  ['{"id":3}', { id: 3 }],
  ['{"type":"hello","tmux":"next-3.8","agentId":"a-1"}', { type: "hello", tmux: "next-3.8", agentId: "a-1" }],
  [
    '{"type":"hello","tmux":"3.3a","agentId":"a-1","agent":"2.1.330"}',
    { type: "hello", tmux: "3.3a", agentId: "a-1", agent: "2.1.330" },
  ],
  [
    '{"type":"hello","tmux":"3.3a","agentId":"a-1","agent":"2\\u001b[2J"}',
    { type: "hello", tmux: "3.3a", agentId: "a-1" },
  ],
  ['{"type":"hello","tmux":"3.3a","agentId":7}', undefined],
  ['{"type":"hello","tmux":"3.3a \\u001b[2J","agentId":"a-1"}', undefined],
  [`{"type":"hello","tmux":"3.3a","agentId":"${"a".repeat(65)}"}`, undefined],
  ['{"id":3,"startTicks":12,"more":1}', { id: 3, startTicks: 12 }],
  [
    '{"id":3,"startTicks":12,"work":{"cpuMs":1,"writtenBytes":2}}',
    { id: 3, startTicks: 12, work: { cpuMs: 1, writtenBytes: 2 } },
  ],
  ['{"id":3,"startTicks":"12","work":{"cpuMs":1}}', { id: 3 }],
  ['{"id":3,"files":["a.jsonl","../b",7]}', { id: 3, files: ["a.jsonl"] }],
  ['{"id":3,"work":null}', { id: 3 }],
  ['{"id":3,"oomKills":2}', { id: 3, oomKills: 2 }],
  ['{"id":3,"oomKills":-2}', { id: 3 }],
  ['{"startTicks":12}', undefined],
  ["[]", undefined],
  ["not json", undefined],
])("the serving half understands %s", (line, answer) => {
  expect(parseControlAnswer(line)).toEqual(answer);
});
