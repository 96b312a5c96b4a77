import { expect, it } from "vitest";
import * as schema from "./schema.ts";

/** Statements that do not affect what the previous version reads and writes. */
const ADDS = [
  /^alter table threads\.\w+(?:\s+add column \w+ \w+(?:\[\])?(?: not null default \S+)?,?)+$/,
  /^create table /,
  /^create index /,
];

it("F19: migrations only add, so that servers of the previous version continue", () => {
  const later = Object.entries(schema).filter(([name]) => name !== "SCHEMA_1");
  expect(later.length).toBeGreaterThan(1);
  for (const [name, text] of later) {
    const statements = text.split(";").map((one) => one.trim());
    for (const statement of statements.filter((one) => one !== "")) {
      expect
        .soft(
          ADDS.some((adds) => adds.test(statement)),
          `${name}: ${statement}`,
        )
        .toBe(true);
    }
  }
});
