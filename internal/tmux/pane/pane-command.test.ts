import { describe, expect, it } from "vitest";
import { commandArguments, cwdCommand, type PaneCommand, paneArgv } from "./pane-command.ts";

const command: PaneCommand = { argv: ["claude", "--x"], env: { A: 'b "c"' }, unsetEnv: ["NODE_ENV"], cwd: "/w#{pid}" };

describe("commandArguments", () => {
  it("contains folder, variables and a command of several words, which tmux runs without a shell", () => {
    const env = '"env" "-u" "TMUX" "-u" "TMUX_PANE" "-u" "NODE_ENV" "claude" "--x"';
    expect(commandArguments(command)).toBe(`-c "#{@gt-cwd}" -e "A=b \\"c\\"" -- ${env}`);
  });

  it.each(["", "A=B"])("refuses the variable name %j", (name) => {
    expect(() => commandArguments({ ...command, env: { [name]: "x" } })).toThrow("not a variable's name");
    expect(() => commandArguments({ ...command, unsetEnv: [name] })).toThrow("not a variable's name");
  });

  it.each([{ argv: ["a\0"] as const }, { env: { A: "\0" } }, { env: { "A\0": "" } }, { unsetEnv: ["\0"] }])(
    "refuses a NUL in %j",
    (part) => {
      expect(() => commandArguments({ ...command, ...part })).toThrow(expect.objectContaining({ kind: "invalid" }));
    },
  );
});

describe("cwdCommand", () => {
  it("passes the folder in an option whose value is not expanded", () => {
    expect(cwdCommand(command)).toBe('set-option -s @gt-cwd "/w#{pid}"');
  });
});

describe("paneArgv", () => {
  it("uses a shell for a program whose name env would read as a variable", () => {
    const argv = paneArgv({ ...command, argv: ["./a=b", "c"], unsetEnv: [] });
    expect(argv).toEqual(["env", "-u", "TMUX", "-u", "TMUX_PANE", "sh", "-c", 'exec "$@"', "sh", "./a=b", "c"]);
  });
});
