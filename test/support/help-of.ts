import { describe, expect, it } from "vitest";
import { type CommandNode, isCommand, type Named, type Program } from "../../internal/cli/command/command.ts";
import { completionScript } from "../../internal/cli/command/completion-script.ts";
import { helpText } from "../../internal/cli/command/help-text.ts";
import { loaded, withAllBelow } from "../../internal/cli/command/named-commands.ts";
import { namedProgram } from "../../internal/cli/command/named-program.ts";

/** Tests the promises about the help and the completion of every program. */
export async function describeHelp(program: Program): Promise<void> {
  const all = await withAllBelow(namedProgram(program));
  describe.each(all.map((named) => [named.call, named] as const))("help for %s", (_, named) => describeOne(named));

  it("lists each command under its own name", async () => {
    for (const { below } of all) {
      expect((await loaded(below)).map(({ name }) => name)).toEqual(Object.keys(below));
    }
  });

  describe.each(["bash", "zsh", "fish"])("completion for %s", (shell) => {
    const script = completionScript(shell, program.name, all, program.lists ?? {});

    it("includes every command and flag", () => {
      for (const { node } of all) {
        expect(script).toContain(node.name);
        for (const flag of Object.keys(isCommand(node) ? node.flags : {}))
          expect(script).toMatch(new RegExp(`(--|-l )${flag}\\b`));
      }
      expect(script).not.toMatch(/undefined|\[object/);
    });
  });
}

function describeOne(named: Named): void {
  const { call, node } = named;

  it.each([60, 80, 110])("fits %i columns", async (columns) => {
    const text = await helpText(named, columns);
    const lines = text.split("\n").filter((line) => columns >= 80 || !isCopied(line, node));
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
  });

  it("begins with the purpose, and contains no placeholder", async () => {
    const text = await helpText(named);
    expect(text).toMatch(/^\S/);
    expect(text).toMatch(new RegExp(`\nUsage:\\s+${call}`));
    expect(text).not.toMatch(/\$\{|undefined|\[object/);
  });

  it("explains every flag once", async () => {
    const [text = ""] = (await helpText(named)).split("\nExample");
    for (const [flag, { short, env }] of Object.entries(isCommand(node) ? node.flags : {})) {
      const lines = text.split("\n").filter((line) => new RegExp(`^ {2}(-\\w, | {4})--${flag}( |$)`).test(line));
      expect(lines, flag).toHaveLength(1);
      if (short !== undefined) expect(lines[0]).toContain(`-${short}, `);
      if (env !== undefined) expect(text).toContain(`[${env}]`);
    }
  });

  it("lists every subcommand with its purpose", async () => {
    const text = (await helpText(named, 110)).replaceAll(/\s+/g, " ");
    for (const { name, help } of await loaded(named.below)) {
      expect(text).toContain(`${call} ${name}`);
      expect(text).toContain(help.summary);
    }
  });

  it("has an example of the command", () => {
    expect(node.help.examples.join("\n")).toContain(call);
  });
}

/** Whether the line is copied unchanged, because a person may copy it. */
function isCopied(line: string, { help }: CommandNode): boolean {
  const copied = [...help.examples, help.text, help.notes ?? ""].flatMap((text) => text.split(/\n|\s{2,}(?=# )/));
  return line.startsWith("  ") && copied.some((part) => line.includes(part.trim()) && part.trim() !== "");
}
