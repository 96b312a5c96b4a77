import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AllowedFiles } from "../../../internal/files/allowed-files.ts";
import { pathPattern } from "../../../internal/files/path-patterns.ts";

/** The results of a run of races. */
export interface RaceFigures {
  readonly reads: number;
  readonly good: number;
  /** Secrets that `read_file` returned. */
  readonly leaked: number;
  /** Secrets that a read by the resolved path returned in the same run, which proves that the race is real. */
  readonly leakedByPath: number;
}

/** Swaps a folder with a link to another one, at full speed. */
const SWAPPER = `
const fs = require("node:fs");
process.chdir(process.argv[1]);
for (;;) {
  fs.renameSync("docs/in", "docs/kept");
  fs.symlinkSync("../admin", "docs/in");
  fs.unlinkSync("docs/in");
  fs.renameSync("docs/kept", "docs/in");
}`;
const SECRET = "secret";
const PATH = "/docs/in/file.md";

/** Reads one path in both ways while a folder on it is being swapped, until `isOver`. */
export function raceReads(isOver: (figures: RaceFigures) => boolean): RaceFigures {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "race-")));
  for (const [name, text] of [
    ["docs/in", "public"],
    ["admin", SECRET],
  ] as const) {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, "file.md"), text);
  }
  const swapper = spawn(process.execPath, ["-e", SWAPPER, folder], { stdio: "ignore" });
  const files = new AllowedFiles(join(folder, "docs"), "/docs");
  const allowed = { patterns: [pathPattern("/docs/**")], maxBytes: 1000 };
  let figures: RaceFigures = { reads: 0, good: 0, leaked: 0, leakedByPath: 0 };
  try {
    while (!isOver(figures)) {
      const result = files.read(PATH, allowed);
      const byPath = readByPath(folder);
      figures = {
        reads: figures.reads + 1,
        good: figures.good + (result.ok && result.text === "public" ? 1 : 0),
        leaked: figures.leaked + (result.ok && result.text === SECRET ? 1 : 0),
        leakedByPath: figures.leakedByPath + (byPath === SECRET ? 1 : 0),
      };
    }
    return figures;
  } finally {
    swapper.kill("SIGKILL");
    files[Symbol.dispose]();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The common but unsafe way: the path is resolved and checked, then read. */
function readByPath(folder: string): string | undefined {
  try {
    const path = realpathSync(join(folder, PATH));
    return path.startsWith(`${folder}/docs/`) ? readFileSync(join(folder, PATH), "utf8") : undefined;
  } catch {
    return undefined;
  }
}
