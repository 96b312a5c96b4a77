import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { makeFolders, makeStateFolders } from "./make-folders.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "gt-folders-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

it("creates missing folders for their owner alone, and accepts existing ones", () => {
  makeFolders(join(dir, "a/b/c"));
  expect(statSync(join(dir, "a")).mode & 0o777).toBe(0o700);
  expect(statSync(join(dir, "a/b/c")).mode & 0o777).toBe(0o700);
  symlinkSync(join(dir, "a"), join(dir, "link"));
  makeFolders(join(dir, "link"));
  makeFolders(join(dir, "link/d/"));
  expect(statSync(join(dir, "a/d")).isDirectory()).toBe(true);
});

it("fails if something else has the name", () => {
  writeFileSync(join(dir, "file"), "");
  expect(() => makeFolders(join(dir, "file"))).toThrow("EEXIST");
  expect(() => makeFolders(join(dir, "file/a"))).toThrow("ENOTDIR");
});

it.runIf(process.platform === "linux")("fails at once if no folder can be created", () => {
  expect(() => makeFolders("/proc/gt/a")).toThrow("ENOENT");
});

it("names the flag that gives another state folder", () => {
  writeFileSync(join(dir, "file"), "");
  const state = join(dir, "file/state");
  const message = `cannot make the folder ${state}: a part of the path is not a folder`;
  const refused = { kind: "denied", message, fields: { hint: "give another --state-dir" } };
  expect(() => makeStateFolders(state)).toThrow(expect.objectContaining(refused));
});
