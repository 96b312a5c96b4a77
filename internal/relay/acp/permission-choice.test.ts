import { expect, it } from "vitest";
import { outcomeOf } from "./permission-choice.ts";

const OPTIONS = [
  { optionId: "always", kind: "allow_always" },
  { optionId: "once", kind: "allow_once" },
  { optionId: "no", kind: "reject_once" },
];

it.each<[string, Parameters<typeof outcomeOf>, object]>([
  ["granted: once", [OPTIONS, { type: "granted", optionId: undefined }], { outcome: "selected", optionId: "once" }],
  [
    "granted, with an option",
    [OPTIONS, { type: "granted", optionId: "always" }],
    { outcome: "selected", optionId: "always" },
  ],
  [
    "granted, with an option that is not offered",
    [OPTIONS, { type: "granted", optionId: "x" }],
    { outcome: "selected", optionId: "no" },
  ],
  [
    "granted, if only always is offered",
    [OPTIONS.slice(0, 1), { type: "granted", optionId: undefined }],
    { outcome: "cancelled" },
  ],
  ["denied", [OPTIONS, { type: "denied" }], { outcome: "selected", optionId: "no" }],
  ["denied, without an option for that", [[], { type: "denied" }], { outcome: "cancelled" }],
])("%s", (_what, call, outcome) => {
  expect(outcomeOf(...call)).toEqual(outcome);
});
