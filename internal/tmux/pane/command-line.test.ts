import { describe, expect, it } from "vitest";
import { commandName, plainCommandName } from "./command-line.ts";

describe("commandName", () => {
  it("is the first word", () => {
    expect(commandName("list-panes -t %0")).toBe("list-panes");
    expect(commandName("kill-server")).toBe("kill-server");
  });

  it.each([
    "",
    " ",
    "# comment",
    "  list-panes",
    "A=1",
    "A=1 list-panes",
    "list-panes\nkill-server",
    "a\r",
    "a\0",
    "{ a }",
    "%if 1",
  ])("refuses %j, which tmux would not answer, or which would detach the client", (line) => {
    expect(() => commandName(line)).toThrow(expect.objectContaining({ kind: "invalid" }));
  });
});

describe("plainCommandName", () => {
  it.each([
    "list-panes -F '#{pane_id};#{pane_pid}'",
    'set-buffer -b x -- "a ; b { } \\" ; it\'s"',
    "send-keys \\;",
    'display-message -p "#{?a,b,c}"',
  ])("accepts the single command %s", (line) => {
    expect(plainCommandName(line)).toBe(line.split(" ")[0]);
  });

  it.each([
    "display-message -p a ; display-message -p b",
    "display-message -p a;",
    "if-shell -F 1 'list-panes'",
    "if -F 1 list-panes",
    "run-shell -C list-panes",
    "source-file x",
    "bind-key x { list-panes }",
    'display-message "open',
  ])("refuses %s, whose number of replies cannot be known", (line) => {
    expect(() => plainCommandName(line)).toThrow(expect.objectContaining({ kind: "invalid" }));
  });
});
