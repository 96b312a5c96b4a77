import { execFileSync } from "node:child_process";
import {
  closeSync,
  fstatSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { OddFileError } from "./open-below.ts";
import { plainParts, RootedWalk } from "./rooted-walk.ts";

let top = "";
let walk: RootedWalk;
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), "gt-walk-"));
  for (const folder of ["root/a/b", "outside"]) mkdirSync(join(top, folder), { recursive: true });
  writeFileSync(join(top, "root/a/b/text"), "inside");
  writeFileSync(join(top, "outside/key"), "secret");
  symlinkSync("root", join(top, "by-link"));
  walk = new RootedWalk(join(top, "by-link"));
});
afterEach(() => {
  walk[Symbol.dispose]();
  rmSync(top, { recursive: true });
});

function read(path: string): string {
  const fd = walk.openFile(plainParts(path) ?? []);
  try {
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

function outcome(path: string): string {
  try {
    return read(path);
  } catch (err) {
    return err instanceof OddFileError ? err.oddity : String((err as NodeJS.ErrnoException).code);
  }
}

it.each<[string, readonly string[] | undefined]>([
  ["/a", ["a"]],
  ["/a/b/", ["a", "b"]],
  ["/%2e%2e/ａ", ["%2e%2e", "ａ"]],
  ["", undefined],
  ["a", undefined],
  ["/", undefined],
  ["//", undefined],
  ["/a//b", undefined],
  ["/a/./b", undefined],
  ["/a/..", undefined],
  ["/a\n", undefined],
  ["/\0", undefined],
  ["/\ud800", undefined],
  [`/${"ä".repeat(128)}`, undefined],
])("the plain parts of %j are %j", (path, parts) => {
  expect(plainParts(path)).toEqual(parts);
});

describe("a walk below a root", () => {
  it("opens folders, and files with one name, wherever the root's own path leads", () => {
    expect(read("/a/b/text")).toBe("inside");
    for (const path of ["/", "/a/b"]) {
      const fd = walk.openFolder(plainParts(path) ?? []);
      expect(fstatSync(fd).ino).toBe(statSync(join(top, "root", path)).ino);
      closeSync(fd);
    }
    expect(fstatSync(walk.root).ino).toBe(statSync(join(top, "root")).ino);
  });

  it.each<[string, string, (path: string) => unknown]>([
    ["a link to a file", "link", (path) => symlinkSync(join(top, "outside/key"), path)],
    ["a second name of a file", "link", (path) => linkSync(join(top, "outside/key"), path)],
    ["a FIFO", "kind", (path) => execFileSync("mkfifo", [path])],
    ["a folder", "kind", (path) => mkdirSync(path)],
    ["nothing", "ENOENT", () => {}],
  ])("reads no file if it is %s", (_, what, put) => {
    put(join(top, "root/a/odd"));
    expect(outcome("/a/odd")).toBe(what);
  });

  it("passes through no link and no file", () => {
    symlinkSync(join(top, "outside"), join(top, "root/out"));
    symlinkSync("a", join(top, "root/inner"));
    expect(["/out/key", "/inner/b/text", "/a/b/text/x"].map(outcome)).toEqual(["link", "link", "kind"]);
  });

  it("stays in the folder that it holds, whatever takes its name", () => {
    renameSync(join(top, "root"), join(top, "moved"));
    symlinkSync("outside", join(top, "root"));
    expect([read("/a/b/text"), outcome("/key")]).toEqual(["inside", "ENOENT"]);
  });

  it("leaves no descriptor open when it fails", () => {
    const count = () => readdirSync("/dev/fd").length;
    outcome("/a/none");
    const before = count();
    for (let i = 0; i < 20; i++) ["/a/none/x", "/a/b/text/x", "/a/b"].map(outcome);
    expect(count()).toBe(before);
  });
});
