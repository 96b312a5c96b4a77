import { describe, expect, it } from "vitest";
import { profileNames } from "../../internal/agents/known-programs.ts";
import { allCommands, commandNamed, commandNames } from "./commands.ts";
import { helpText } from "./common/command/help-text.ts";
import { PLACE_FLAGS } from "./common/place/place-flags.ts";
import { overview } from "./help/overview.ts";

const commands = await allCommands();

it("lists each command under its own name", async () => {
  expect(commands.map(({ name }) => name)).toEqual(commandNames);
  expect(await commandNamed("constructor")).toBeUndefined();
});

it("offers the agent programs that there are", () => {
  expect(PLACE_FLAGS["agent-profile"].complete).toEqual(profileNames);
});

describe.each(commands.map((command) => [command.name, command] as const))("help for %s", (name, command) => {
  const text = helpText(command);

  it("has nothing in it that was to be replaced", () => {
    expect(text).not.toMatch(/\$\{|undefined|\[object/);
  });

  it("fits 110 columns and begins with what the command does", () => {
    expect(text.split("\n").filter((line) => line.length > 110)).toEqual([]);
    expect(text).toMatch(/^[A-Z]/);
    expect(text).toContain(`\nUsage: gt ${name}`);
  });

  it("explains every flag once", () => {
    for (const [flag, { short }] of Object.entries(command.flags)) {
      const lines = text.split("\n").filter((line) => new RegExp(`^ {2}(-\\w, | {4})--${flag}( |$)`).test(line));
      expect(lines, flag).toHaveLength(1);
      if (short !== undefined) expect(lines[0]).toContain(`-${short}, `);
    }
  });

  it("has an example that calls it", () => {
    expect(command.help.examples.join("\n")).toContain(`gt ${name}`);
  });
});

it("shows in the overview every command and what it is for", () => {
  const text = overview(commands);
  for (const { name, help } of commands) expect(text).toMatch(new RegExp(`^ {2}gt ${name}.* {3}${help.summary}$`, "m"));
  expect(text).not.toContain("${");
  expect(text.split("\n").filter((line) => line.length > 110)).toEqual([]);
});
