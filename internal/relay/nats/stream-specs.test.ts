import { expect, it } from "vitest";
import { differences, streamNames, streamSpecs } from "./stream-specs.ts";

const [work] = streamSpecs(streamNames("RELAY"), 1);

it("ignores settings that the server adds", () => {
  if (work === undefined) throw new Error("no specification");
  expect(differences(work, { ...work, max_consumers: -1, sealed: false })).toEqual([]);
});

it("names each setting that differs, with both values", () => {
  if (work === undefined) throw new Error("no specification");
  expect(differences(work, { ...work, max_msgs_per_subject: 5, subjects: ["x"] })).toEqual([
    'subjects: ["x"], not ["sessions.*.work.*"]',
    "max_msgs_per_subject: 5, not 1000",
  ]);
});
