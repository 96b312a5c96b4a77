import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AllowedFiles } from "../../internal/files/allowed-files.ts";
import { pathPattern } from "../../internal/files/path-patterns.ts";
import { randomFrom } from "../fuzz/random.ts";
import { killWhileCrossing } from "../lab/desk/kills.ts";
import { raceReads } from "../lab/desk/races.ts";

const LONGEST_MS = 60_000;
/** Each test starts a dozen processes, which takes a minute on a busy machine. */
const BUSY_MS = 300_000;

describe("read_file", () => {
  it("reveals no secret while folders and links are swapped, although a read of the resolved path does", () => {
    const end = performance.now() + LONGEST_MS;
    const figures = raceReads(({ leakedByPath, good }) => (leakedByPath > 0 && good > 200) || performance.now() > end);
    expect(figures.leaked).toBe(0);
    expect(figures.good).toBeGreaterThan(0);
    expect(figures.leakedByPath).toBeGreaterThan(0);
  });

  it("opens no FIFO, socket or device, and leaves no descriptor open", async () => {
    const folder = mkdtempSync(join(tmpdir(), "desk-odd-"));
    const docs = join(folder, "docs");
    mkdirSync(docs);
    expect(spawnSync("mkfifo", [join(docs, "fifo")]).status).toBe(0);
    const server = createServer().listen(join(docs, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    const before = readdirSync("/proc/self/fd").length;
    const files = new AllowedFiles(docs, "/docs");
    const allowed = { patterns: [pathPattern("/docs/**")], maxBytes: 1000 };
    // Opening a FIFO for reading would unblock a process that waits to open it for writing.
    for (const name of ["fifo", "socket"])
      expect(files.read(`/docs/${name}`, allowed)).toEqual({ ok: false, reason: "not allowed" });
    files[Symbol.dispose]();
    expect(readdirSync("/proc/self/fd").length).toBe(before);
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true });
  });
});

describe("after a kill of either half", () => {
  it(
    "no text has crossed twice, and each reported outcome is true",
    async () => {
      const figures = await killWhileCrossing(2, randomFrom(7));
      expect(figures.wrong).toEqual([]);
      expect(figures.submitted).toBeGreaterThan(0);
    },
    BUSY_MS,
  );
});
