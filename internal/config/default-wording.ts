import type { z } from "zod";

const TYPES: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a block of keys",
  record: "a block of keys",
};

/** The words of a fault where a schema has none of its own. */
export function defaultWording(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is required" : `must be ${TYPES[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return issue.input === undefined ? "is required" : `must be one of ${issue.values.join(", ")}`;
    case "invalid_union":
      return issue.input === undefined ? "is required" : undefined;
    default:
      return undefined;
  }
}
