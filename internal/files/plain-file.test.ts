import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openPlainFile, readAll, readPlainFile, readPlainFileSync } from "./plain-file.ts";

let dir = "";
let path = "";
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "gt-plain-"));
  path = join(dir, "file");
});
afterEach(() => rmSync(dir, { recursive: true }));

const STRANGE: readonly (readonly [string, () => unknown])[] = [
  ["a folder", () => mkdirSync(path)],
  ["a FIFO without a writer", () => execFileSync("mkfifo", [path])],
  ["a link to an endless device", () => symlinkSync("/dev/zero", path)],
  ["a link to a file", () => symlinkSync("/etc/passwd", path)],
];

describe.each([
  ["readPlainFile", readPlainFile],
  ["readPlainFileSync", async (name: string, max: number) => readPlainFileSync(name, max)],
])("%s", (_, read) => {
  it("reads a file of at most the given size", async () => {
    writeFileSync(path, "grün");
    expect([await read(path, 5), await read(path, 4)]).toEqual(["grün", undefined]);
  });

  it("returns undefined for a missing file", async () => {
    expect([await read(path, 9), await read(join(path, "below"), 9)]).toEqual([undefined, undefined]);
    writeFileSync(path, "a file, not a folder");
    expect(await read(join(path, "below"), 9)).toBe(undefined);
  });

  it.each(STRANGE)("treats %s as missing", async (_, put) => {
    put();
    expect(await read(path, 100)).toBe(undefined);
  });
});

describe("openPlainFile", () => {
  it("creates a private file, and opens it again", () => {
    const fd = openPlainFile(path, constants.O_RDWR | constants.O_CREAT);
    writeFileSync(fd, "text");
    expect(readAll(fd).toString()).toBe("text");
    closeSync(fd);
    expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual(["text", 0o600]);
  });

  it.each(STRANGE)("refuses %s", (_, put) => {
    put();
    expect(() => openPlainFile(path, constants.O_RDWR | constants.O_CREAT)).toThrow(
      expect.objectContaining({ kind: "precondition" }),
    );
  });

  it("reports a missing file as the system does", () => {
    expect(() => openPlainFile(path, constants.O_RDONLY)).toThrow(expect.objectContaining({ code: "ENOENT" }));
  });
});
