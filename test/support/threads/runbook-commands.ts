import { readFile } from "node:fs/promises";

/** The blocks of commands of docs/threads-runbook.md, by heading; those before the first heading by "". */
export async function runbookCommands(): Promise<ReadonlyMap<string, readonly string[]>> {
  const text = await readFile(new URL("../../../docs/threads-runbook.md", import.meta.url), "utf8");
  const blocks = new Map<string, readonly string[]>();
  for (const section of text.split(/^## /m)) {
    const heading = section.startsWith("# ") ? "" : section.slice(0, section.indexOf("\n"));
    blocks.set(
      heading,
      [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, commands = ""]) => commands.trim().split("\n")),
    );
  }
  return blocks;
}
