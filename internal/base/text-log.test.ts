import { expect, it } from "vitest";
import { textLines } from "./text-log.ts";

function written(line: string): string {
  const parts: string[] = [];
  textLines({ write: (part) => void parts.push(part) }).write(line);
  return parts.join("");
}

it("writes a log entry on one line for a person", () => {
  const record = {
    level: 40,
    time: "2026-01-02T03:04:05.678Z",
    name: "bridge",
    reason: "a b",
    count: 2,
    msg: "is late",
  };
  expect(written(`${JSON.stringify(record)}\n`)).toBe('2026-01-02T03:04:05.678Z WARN is late reason="a b" count=2\n');
});

it("removes escape sequences and line feeds from fields", () => {
  const line = written(JSON.stringify({ level: 30, time: "t", msg: "m", text: "a\x1b[31m\nb" }));
  expect(line).toBe('t INFO m text="a\\u001b[31m\\nb"\n');
  expect(written("\x1b[2Jno json\n")).toBe("no json\n");
});

it("writes an entry of a relay, whose level is a word, in the same form", () => {
  const record = {
    level: "info",
    timestamp: "2026-01-02T03:04:05.678Z",
    component: "relay",
    action: "serving",
    msg: "up",
  };
  expect(written(JSON.stringify(record))).toBe("2026-01-02T03:04:05.678Z INFO up action=serving\n");
});
