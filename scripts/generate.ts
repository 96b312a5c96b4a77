// Generates internal/gen from proto/ with the packaged buf and protoc-gen-es; needs no network.
//
//   npm run generate              write internal/gen
//   npm run generate -- --check   exit 1 and name the files when internal/gen is not what proto/ says
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";

const root = dirname(import.meta.dirname);
const GENERATED = "internal/gen";

function generateInto(folder: string): void {
  const bin = join(root, "node_modules", ".bin");
  const path = [bin, dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
  const done = spawnSync(join(bin, "buf"), ["generate", "--output", folder], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, PATH: path },
  });
  if (done.error) throw done.error;
  if (done.status !== 0) process.exit(done.status ?? 1);
}

function filesOf(folder: string): Map<string, string> {
  const files = new Map<string, string>();
  if (!statSync(folder, { throwIfNoEntry: false })) return files;
  for (const entry of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const path = join(folder, entry);
    if (statSync(path).isFile()) files.set(entry, readFileSync(path, "utf8"));
  }
  return files;
}

/** Names of the generated files that are missing, changed or too many. */
function staleFiles(): string[] {
  const scratch = mkdtempSync(join(tmpdir(), "generate-"));
  try {
    generateInto(scratch);
    const wanted = filesOf(join(scratch, GENERATED));
    const present = filesOf(join(root, GENERATED));
    const names = new Set([...wanted.keys(), ...present.keys()]);
    return [...names].filter((name) => wanted.get(name) !== present.get(name)).sort();
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

if (process.argv.includes("--check")) {
  const stale = staleFiles();
  for (const name of stale) console.error(`stale: ${GENERATED}/${name}`);
  if (stale.length > 0) {
    console.error("run: npm run generate");
    process.exit(1);
  }
} else {
  generateInto(root);
}
