import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { describeHelp } from "../../../test/support/help-of.ts";
import { DomainError } from "../../base/errors.ts";
import type { MainContext } from "../run-main.ts";
import type { Command, CommandFlags, Program } from "./command.ts";
import { runProgram } from "./run-program.ts";

let calls: unknown[] = [];

function command<F extends CommandFlags>(
  name: string,
  flags: F,
  { call = `tool ${name}`, ...more }: { call?: string; completion?: string } = {},
): Command<F> {
  return {
    name,
    flags,
    help: { usage: "", summary: `do ${name}`, text: `Does ${name}.`, examples: [call] },
    completion: [],
    ...more,
    run: async ({ values, positionals, rest }, { argv }) => {
      calls.push([name, values, [...positionals, ...(rest ?? [])], argv]);
      return 5;
    },
  };
}

const JSON_FLAG = { json: { type: "boolean", help: "as JSON" } } as const satisfies CommandFlags;
const CONFIG_FLAG = {
  config: { type: "string", short: "c", value: "FILE", env: "TOOL_CONFIG", help: "the file", complete: "file" },
} as const satisfies CommandFlags;

/** Commands, one of them with commands of its own. */
const tool: Program = {
  name: "tool",
  help: { summary: "work", text: "Works.", examples: ["tool peek"] },
  lists: { thing: "tool things --quiet" },
  commands: {
    peek: async () => command("peek", JSON_FLAG, { completion: "thing" }),
    threads: async () => ({
      name: "threads",
      help: { summary: "talk", text: "Talks.", examples: ["tool threads post"] },
      commands: { post: async () => command("post", { ...JSON_FLAG, ...CONFIG_FLAG }, { call: "tool threads post" }) },
    }),
  },
};

/** A program that can run and has commands as well. */
const daemon: Program = {
  ...command("daemon", CONFIG_FLAG),
  help: { usage: "--config FILE", summary: "serve", text: "Serves.", examples: ["daemon -c x"] },
  commands: {
    check: async () => ({
      ...command("check", CONFIG_FLAG),
      help: { usage: "", summary: "check", text: "Checks.", examples: ["daemon check"] },
    }),
  },
};

async function run(program: Program, line: string): Promise<{ code: number; stdout: string; calls: unknown[] }> {
  calls = [];
  let stdout = "";
  const stream = { write: (text: string) => (stdout += text) };
  const main = {
    argv: line.split(" ").filter(Boolean),
    env: {},
    stdout: stream,
    stderr: stream,
    signal: new AbortController().signal,
    clock: new FakeClock(),
  } as unknown as MainContext;
  const code = await runProgram(program, main);
  return { code, stdout, calls };
}

async function refusal(program: Program, line: string): Promise<string> {
  const err = await run(program, line).catch((reason: unknown) => reason);
  expect(err).toBeInstanceOf(DomainError);
  return err instanceof DomainError ? `${err.message}; ${err.fields["hint"]}` : "";
}

describe("a program", () => {
  it.each<[Program, string, unknown]>([
    [tool, "peek a b --json", ["peek", { json: true }, ["a", "b"], ["a", "b", "--json"]]],
    [tool, "threads post -c f hello", ["post", { config: "f" }, ["hello"], ["-c", "f", "hello"]]],
    [tool, "peek -- --json threads", ["peek", {}, ["--json", "threads"], ["--", "--json", "threads"]]],
    [daemon, "--config check", ["daemon", { config: "check" }, [], ["--config", "check"]]],
    [daemon, "check --config f", ["check", { config: "f" }, [], ["--config", "f"]]],
    [daemon, "--config f check", ["check", { config: "f" }, [], ["--config", "f"]]],
    [daemon, "-c f -- check", ["daemon", { config: "f" }, ["check"], ["-c", "f", "--", "check"]]],
    [daemon, "", ["daemon", {}, [], []]],
    [daemon, "other", ["daemon", {}, ["other"], ["other"]]],
  ])("runs the named command: $0.name $1", async (program, line, call) => {
    expect(await run(program, line)).toEqual({ code: 5, stdout: "", calls: [call] });
  });

  it.each<[Program, string, string]>([
    [tool, "", "Works."],
    [tool, "help", "Works."],
    [tool, "-h", "Works."],
    [tool, "threads", "Talks."],
    [tool, "threads --help", "Talks."],
    [tool, "help threads post", "Does post."],
    [tool, "threads post --wrong --help", "Does post."],
    [daemon, "--help", "Serves."],
    [daemon, "--help check", "Checks."],
    [tool, "--version", "tool 0.1.0"],
    [tool, "version", "tool 0.1.0"],
    [daemon, "-c x --version", "daemon 0.1.0"],
    [tool, "threads --version", "tool 0.1.0"],
    [daemon, "completion bash", "# bash completion for daemon"],
  ])("shows the requested help: $0.name $1", async (program, line, start) => {
    const shown = await run(program, line);
    expect(shown).toMatchObject({ code: 0, calls: [] });
    expect(shown.stdout.split("\n")[0]).toBe(start);
  });

  it.each<[Program, string, string]>([
    [tool, "peke", 'unknown command "peke"; did you mean tool peek?'],
    [tool, "zzzzzz", 'unknown command "zzzzzz"; tool help lists the commands'],
    [tool, "threads pots", 'unknown command "pots"; did you mean tool threads post?'],
    [tool, "help threads nothing", 'unknown command "nothing"; tool help threads lists the commands'],
    [tool, "peke --jsn", "unknown flag --jsn; did you mean --json?"],
    [tool, "--jsn peke", "unknown flag --jsn; did you mean --json?"],
    [tool, "--json peek", "--json stands before the command; flags follow the command: tool peek --json"],
    [tool, "--json", "tool needs a command; flags follow the command; tool --help lists the commands"],
    [tool, "constructor", 'unknown command "constructor"; tool help lists the commands'],
    [tool, "peek --jsn extra", "unknown flag --jsn; did you mean --json?"],
    [tool, "completion tcsh", 'no completion for "tcsh"; completion exists for bash, zsh and fish'],
    [daemon, "chekc --cnfig f", "unknown flag --cnfig; did you mean --config?"],
  ])("refuses a flag before a word: $0.name $1", async (program, line, message) => {
    expect(await refusal(program, line)).toBe(message);
  });
});

describe("help of commands below a command", () => describeHelp(tool));
describe("help of a daemon", () => describeHelp(daemon));
