import { expect, it } from "vitest";
import { createLogger } from "./logger.ts";
import { Redactor } from "./redact.ts";

it("writes no secret in fields, lists and errors, and still writes lines of JSON", () => {
  const lines: string[] = [];
  const redactor = new Redactor(["hunter\\d", "token=\\S+"]);
  const redact = (text: string) => redactor.redact(text);
  const logger = createLogger("test", "info", { destination: { write: (line) => void lines.push(line) }, redact });
  const err = new Error("cannot use hunter2", { cause: new Error("token=abc") });
  logger.info({ url: "x?token=abc", list: ["hunter3", { deep: "hunter4" }], count: 1, none: null }, "called");
  logger.error({ err }, "failed");
  const [info, error] = lines.map((line) => JSON.parse(line));
  expect(info).toMatchObject({
    url: "x?[redacted]",
    list: ["[redacted]", { deep: "[redacted]" }],
    count: 1,
    none: null,
  });
  expect(info.msg).toBe("called");
  expect(error.err.message).toContain("cannot use [redacted]");
  expect(lines.join("")).not.toMatch(/hunter|abc/);
});

it("writes printable lines that still contain what was logged", () => {
  const lines: string[] = [];
  const logger = createLogger("test", "info", { destination: { write: (line) => void lines.push(line) } });
  const hostile = "a\x1b[2J\x9b2J\x9d0;title\u202eb\nc";
  logger.info({ hostile }, "called");
  expect(lines.join("")).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|\n./);
  expect(JSON.parse(lines.join(""))).toMatchObject({ hostile });
});
