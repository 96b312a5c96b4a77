// Keeps the lock files complete for every platform and free of registry addresses (see lock-file.ts).
//
//   npm run lock                adds the entries that npm left out
//   npm run lock -- --check     lists the faults, with exit code 1
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { addressed, type LockEntries, missingOptional, sorted } from "./lock-file.ts";
import { root } from "./step.ts";

const FILES = ["package-lock.json", ...globSync("test/*/package-lock.json", { cwd: root })];

for (const file of FILES) {
  const path = join(root, file);
  const lock = JSON.parse(readFileSync(path, "utf8")) as { readonly packages: LockEntries };
  const missing = missingOptional(lock.packages);
  const names = Object.keys(missing);
  for (const name of addressed(lock.packages)) complain(`${file}: ${name} names a registry`);
  if (names.length === 0) continue;
  if (process.argv.includes("--check")) {
    complain(`${file}: ${names.length} platform packages are missing (npm ci would refuse it); run: npm run lock`);
  } else {
    const packages = sorted({ ...lock.packages, ...missing });
    writeFileSync(path, `${JSON.stringify({ ...lock, packages }, null, 2)}\n`);
    console.log(`${file}: added ${names.join(", ")}`);
  }
}

function complain(text: string): void {
  console.error(text);
  process.exitCode = 1;
}
