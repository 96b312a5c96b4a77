import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentDesk } from "./agent-desk.ts";
import { encodingsFound } from "./encodings.ts";

/** All that the customer's side of a desk with agents can observe: its output, its model's requests, its files. */
export function customerSide(desk: AgentDesk, printed: object): readonly Buffer[] {
  const requests = desk.frontRequests.map((whole) => Buffer.from(whole));
  return [Buffer.from(JSON.stringify(printed)), ...requests, ...filesBelow(desk, ".desk/front")];
}

export function administratorSide(desk: AgentDesk): readonly Buffer[] {
  const own = ["CLAUDE.md", "admin.env"].map((name) => readFileSync(desk.bed.path(name)));
  return [...filesBelow(desk, ".desk/back"), ...own];
}

/** The canaries found in the data, each with the encoding in which it occurs. */
export function canariesFound(data: readonly Buffer[], canaries: readonly string[]): readonly string[] {
  return canaries.flatMap((canary) =>
    data.flatMap((part) => encodingsFound(part, canary).map((encoding) => `${canary} as ${encoding}`)),
  );
}

/** The contents and the names of all files below a folder. */
function filesBelow(desk: AgentDesk, folder: string): readonly Buffer[] {
  const entries = readdirSync(desk.bed.path(folder), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes("/front/cache"));
  const names = entries.map(({ name }) => name).join("\n");
  return [Buffer.from(names), ...files.map((entry) => readFileSync(join(entry.parentPath, entry.name)))];
}
