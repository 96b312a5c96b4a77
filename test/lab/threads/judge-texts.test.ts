import { expect, it } from "vitest";
import { judgeTexts } from "./judge-texts.ts";

const attempt = (request: string, outcome: string | null) => ({ agent: "a", request, outcome });

it.each([
  ["submitted and taken", "submitted", 1, {}],
  ["submitted and not taken", "submitted", 0, { false: 1 }],
  ["submitted and taken twice", "submitted", 2, { doubled: 1 }],
  ["withdrawn and taken", "cancelled", 1, { false: 1 }],
  ["withdrawn and not taken", "cancelled", 0, {}],
  ["unknown and taken", "unknown", 1, { unknown: 1 }],
  ["unknown and not taken", "unknown", 0, { unknown: 1 }],
  ["without an outcome", null, 0, {}],
])("the judge is right about a text that is %s", (_, outcome, times, wrong) => {
  const taken = ["[threads w-2-1] another", ...Array.from({ length: times }, () => "[threads w-1-1] one new")];
  expect(judgeTexts([attempt("w-1-1", outcome)], taken)).toEqual({ doubled: 0, false: 0, unknown: 0, ...wrong });
});
