import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import type { DeskBed } from "./desk-bed.ts";

/** A hole in a sandbox. */
interface Hole {
  /** Arguments added at the end of bubblewrap's. */
  readonly more?: readonly string[];
  /** An argument to leave out. */
  readonly without?: string;
  /** A shell line that runs first. */
  readonly before?: string;
}

/** A PATH whose `bwrap` is the real one with a hole. */
export function leakyBubblewrap(bed: DeskBed, { more = [], without = "", before = "" }: Hole): string {
  const path = process.env["PATH"] ?? "";
  const real = spawnSync("sh", ["-c", "command -v bwrap"], { encoding: "utf8", env: { PATH: path } }).stdout.trim();
  const script = `#!/bin/sh
${before}
for word in "$@"; do
  shift
  if [ "$word" = -- ] && [ -z "$seen" ]; then seen=1; set -- "$@" ${more.map((part) => `'${part}'`).join(" ")}; fi
  [ "$word" = "${without}" ] || set -- "$@" "$word"
done
exec ${real} "$@"
`;
  mkdirSync(bed.path("bin"), { recursive: true });
  writeFileSync(bed.path("bin/bwrap"), script);
  chmodSync(bed.path("bin/bwrap"), 0o755);
  return `${bed.path("bin")}:${path}`;
}
