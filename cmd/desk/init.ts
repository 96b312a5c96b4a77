import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../../internal/base/errors.ts";
import { printable } from "../../internal/base/printable-text.ts";
import { takeArguments } from "../../internal/cli/command/arguments.ts";
import type { Command } from "../../internal/cli/command/command.ts";
import { makeFolders } from "../../internal/files/make-folders.ts";
import { systemReason } from "../../internal/files/system-reason.ts";

const CONFIG = `# The desk. Every key is optional; desk check reports what is wrong with this file, by line.
version: 1
supervisor:                          # the administrator's side
  agent: reader                      # reader (built in) | claude | codex | opencode
  root: ./admin                      # what it reads as /admin
  read: ["/admin/**"]
intent:                              # which texts go to the customer's side: first match wins (RE2)
  by: rules
  rules:
    - { match: '(?i)^(tell|ask|inform) (the )?customers?\\b', route: customer }
  default: answer
customer:                            # the customer's side; it sees nothing above this line
  agent: reader
  root: ./docs                       # what it reads as /docs
  read: ["/docs/**"]
  isolation: auto
limits: { input_bytes: 65536, file_bytes: 262144, turn: 5m, threads: 100, sessions: 8, queue: 8 }
`;

const FILES: Readonly<Record<string, string>> = {
  "desk.yaml": CONFIG,
  "admin/prices.md": "wholesale 4.20\n",
  "docs/hours.md": "Opening hours: Monday to Friday, nine to six.\n",
};

export const init: Command = {
  name: "init",
  flags: {},
  help: {
    usage: "[DIR]",
    summary: "make a sample: desk.yaml, admin/ and docs/",
    text: "Makes DIR (the current folder by default) with a sample configuration, a folder for the administrator's files and one for the customer's. Files that exist stay as they are.",
    examples: ["desk init shop && cd shop && desk --mode admin"],
  },
  completion: "folder",
  async run({ positionals }, { out }) {
    const [folder = "."] = takeArguments("desk init", positionals, [], ["DIR"]);
    for (const [name, text] of Object.entries(FILES)) {
      const path = join(folder, name);
      out.line(printable`${write(path, text) ? "made" : "kept"} ${path}`);
    }
    return 0;
  },
};

function write(path: string, text: string): boolean {
  if (existsSync(path)) return false;
  try {
    makeFolders(join(path, ".."));
    writeFileSync(path, text, { flag: "wx" });
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOSPC") rmSync(path, { force: true }); // it contains only a part of the text
    throw new DomainError("unavailable", `cannot write ${path}: ${systemReason(cause)}`, { cause });
  }
}
