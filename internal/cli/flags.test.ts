import { describe, expect, it } from "vitest";
import { DomainError } from "../base/errors.ts";
import { parseFlags } from "./flags.ts";

const specs = {
  lines: { type: "number", short: "n", env: "T_LINES" },
  all: { type: "boolean", env: "T_ALL" },
  name: { type: "string" },
  timeout: { type: "duration" },
  allow: { type: "list", env: "T_ALLOW" },
} as const;

function parse(argv: string[], env: Record<string, string> = {}) {
  return parseFlags(specs, argv, env);
}

function failure(argv: string[], env: Record<string, string> = {}): DomainError {
  try {
    parse(argv, env);
  } catch (err) {
    if (err instanceof DomainError) return err;
    throw err;
  }
  throw new Error("nothing was thrown");
}

describe("reading", () => {
  it("returns typed values and positionals in any order", () => {
    const { values, positionals } = parse(["toast", "-n", "5", "--all", "--name=x y", "--timeout", "1.5s", "more"]);
    expect(values).toEqual({ lines: 5, all: true, name: "x y", timeout: 1500 });
    expect(positionals).toEqual(["toast", "more"]);
  });

  it("leaves absent flags absent", () => {
    expect(parse([]).values).toEqual({});
  });

  it("prefers a flag to the environment, and the environment to the default", () => {
    expect(parse(["-n5"], { T_LINES: "7" }).values.lines).toBe(5);
    expect(parse([], { T_LINES: "7", T_ALL: "yes" }).values).toEqual({ lines: 7, all: true });
    expect(parse(["--no-all"], { T_ALL: "1" }).values.all).toBe(false);
    expect(parse([], { T_LINES: "" }).values).toEqual({});
  });

  it("collects a list from repeated flags, or from commas in the environment", () => {
    expect(parse(["--allow", "a=b,c", "--allow", "d"]).values.allow).toEqual(["a=b,c", "d"]);
    expect(parse([], { T_ALLOW: "a, b,," }).values.allow).toEqual(["a", "b"]);
  });

  it("keeps everything after -- unchanged", () => {
    const parsed = parse(["--all", "--", "claude", "--help", "-n"]);
    expect(parsed.rest).toEqual(["claude", "--help", "-n"]);
    expect(parsed.ask).toBeUndefined();
    expect(parse(["--all"]).rest).toBeUndefined();
  });

  it("refuses an empty text, such as an unset variable leaves, unless it has a meaning", () => {
    expect(failure(["--name", ""]).message).toBe("--name is empty");
    expect(failure(["--allow="]).message).toBe("--allow is empty");
    expect(parseFlags({ name: { type: "string", allowEmpty: true } }, ["--name", ""], {}).values.name).toBe("");
  });

  it("accepts a value that begins with a dash", () => {
    expect(parse(["-n", "-5"]).values.lines).toBe(-5);
  });

  it.each([["--help"], ["-h"]])("answers %s before it reports other errors", (flag) => {
    expect(parse(["--wrong", flag]).ask).toBe("help");
  });
});

describe("errors", () => {
  it.each([
    [["--lnes", "5"], "unknown flag --lnes", "did you mean --lines?"],
    [["--zzzzzz"], "unknown flag --zzzzzz", "--help lists the flags"],
    [["-x"], "unknown flag -x", "--help lists the flags"],
  ])("%j: %s", (argv, message, hint) => {
    const err = failure(argv);
    expect([err.kind, err.message, err.fields["hint"]]).toEqual(["invalid", message, hint]);
  });

  it.each([
    [["--lines"], "--lines needs a value"],
    [["-n", "many"], '-n needs a whole number, not "many"'],
    [["-n", "1.5"], '-n needs a whole number, not "1.5"'],
    [["--all=maybe"], '--all must be true or false, not "maybe"'],
    [["--timeout", "soon"], '--timeout needs a duration such as 300ms, 1.5s or 10m, not "soon"'],
  ])("%j: %s", (argv, message) => {
    expect(failure(argv).message).toBe(message);
  });

  it("names the variable if the environment is wrong", () => {
    expect(failure([], { T_LINES: "x" }).message).toBe('T_LINES needs a whole number, not "x"');
  });
});
