import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { replaceStateFile } from "./state-file.ts";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "gt-state-file-"));
});
afterAll(() => rmSync(dir, { recursive: true }));

it("replaces the file with one that only its owner can access, and creates its folder", () => {
  const path = join(dir, "new", "record");
  replaceStateFile(path, "one");
  replaceStateFile(path, "two");
  expect(readFileSync(path, "utf8")).toBe("two");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(dir, "new"))).toEqual(["record"]);
});

it("reports the system's reason without the path if the file cannot be written", () => {
  writeFileSync(join(dir, "file"), "");
  mkdirSync(join(dir, "taken"));
  const fails = (path: string, reason: string) =>
    expect(() => replaceStateFile(path, "x")).toThrow(
      expect.objectContaining({ kind: "unavailable", message: `the state folder cannot be written: ${reason}` }),
    );
  fails(join(dir, "file", "record"), "file already exists");
  fails(join(dir, "taken"), "illegal operation on a directory");
  expect(readdirSync(dir)).not.toContain("taken.new");
});
