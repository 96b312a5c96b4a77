import { describe, expect, it } from "vitest";
import type { AgentEvent } from "../../bridge/provider.ts";
import { AgentOutput } from "./agent-output.ts";

function output(raw = false) {
  const events: AgentEvent[] = [];
  const lines: string[] = [];
  const onLine = (line: string) => {
    lines.push(line.slice(0, 100));
    return line.startsWith("{");
  };
  return { events, lines, output: new AgentOutput({ onLine, emit: (event) => events.push(event), raw }) };
}

const text = (stream: "stdout" | "stderr", shown: string): AgentEvent => ({ type: "output", stream, text: shown });

describe("the output of an agent", () => {
  it("gives the protocol its lines, and shows and counts the others as plain text", () => {
    const { events, lines, output: agent } = output();
    agent.stdout(Buffer.from('{"a":1}\n\x1b[31mwarn'));
    agent.stdout(Buffer.from("ing\x1b[0m\n{half"));
    agent.end();
    expect(lines).toEqual(['{"a":1}', "\x1b[31mwarning\x1b[0m", "{half"]);
    expect(events).toEqual([text("stdout", "warning\n"), text("stderr", "● 1 of its lines could not be parsed\n")]);
  });

  it("separates stderr, and remembers its last line", () => {
    const { events, output: agent } = output();
    agent.stderr(Buffer.from("first\n\x1b[1mlast\x1b[0m"));
    agent.end();
    expect(events).toEqual([text("stderr", "first\n"), text("stderr", "last\n")]);
    expect(agent.lastError).toBe("last");
  });

  it("shows every line unchanged if raw is set", () => {
    const { events, output: agent } = output(true);
    agent.stdout(Buffer.from('{"a":"\\u001b"}\nplain\n'));
    expect(events).toEqual([text("stdout", '{"a":"\\u001b"}\n'), text("stdout", "plain\n")]);
  });

  it("reports the lost part of a line over 4 MiB, and does not pass the line to the protocol", () => {
    const { events, lines, output: agent } = output();
    agent.stdout(Buffer.from(`{${"x".repeat(5 * 1024 * 1024)}\n{}\n`));
    expect(lines).toEqual(["{}"]);
    const [shown, lost] = events;
    expect(shown).toEqual(text("stdout", `{${"x".repeat(65_535)}\n`));
    expect(lost).toMatchObject({ type: "lost", stream: "stdout", bytes: 5 * 1024 * 1024 + 1 - 65_536 });
  });
});
