import { expect, it } from "vitest";
import { readDemoLine } from "./demo-stream.ts";

it.each([
  ['{"type":"ready","protocol":1,"session":"s"}', { type: "ready", session: "s" }],
  ['{"type":"taken","id":"a","held":true}', { type: "taken", id: "a", held: true }],
  ['{"type":"started","id":"a"}', { type: "started", id: "a" }],
  ['{"type":"done","id":"a"}', { type: "done", id: "a" }],
  ['{"type":"text","text":"half "}', { type: "output", text: "half " }],
  ['{"type":"tool","call":"Read(x)","result":"3 lines"}', { type: "output", text: "● Read(x)\n  ⎿ 3 lines\n" }],
  [
    '{"type":"asks","id":"ask-1","kind":"permission","title":"Allow?","text":"rm","choices":["Yes","No"]}',
    {
      type: "asks",
      id: "ask-1",
      question: { kind: "permission", title: "Allow?", text: "rm", choices: ["Yes", "No"] },
    },
  ],
  ["{}", undefined],
  ['{"type":"later version"}', undefined],
  ["[1]", undefined],
  ["{not json", undefined],
  ["plain text", undefined],
])("%s", (line, expected) => {
  expect(readDemoLine(line)).toEqual(expected);
});
