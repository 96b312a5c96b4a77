import { expect, it } from "vitest";
import { createLogger } from "./logger.ts";
import { Redactor } from "./redact.ts";

it("writes no secret, in fields, lists and errors, and still lines of JSON", () => {
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
