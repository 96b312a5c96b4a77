// Checks the sizes, names and comments that keep a room readable; prints a line for each violation, with exit code 1.
//
//   node scripts/launch.mjs scripts/check-sizes.ts
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repeatedNames } from "./checks/exported-names.ts";
import { danglingOpeners, misnamed, oversized, type SourceFile } from "./checks/source-sizes.ts";
import { root } from "./step.ts";

const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.ts", "*.mjs"], {
  cwd: root,
  encoding: "utf8",
});
const files: readonly SourceFile[] = listed
  .split("\0")
  .filter((path) => path !== "" && !path.includes("/gen/"))
  .flatMap((path) => read(path));
const broken = [...oversized(files), ...misnamed(files), ...danglingOpeners(files), ...repeatedNames(files)];
for (const line of broken) console.log(line);
process.exitCode = broken.length > 0 ? 1 : 0;

/** Empty for a file that git still lists but that was deleted. */
function read(path: string): readonly SourceFile[] {
  try {
    return [{ path, text: readFileSync(join(root, path), "utf8") }];
  } catch {
    return [];
  }
}
