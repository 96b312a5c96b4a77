import { execFileSync } from "node:child_process";
import {
  chownSync,
  closeSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { OddFileError, type Oddity } from "./open-below.ts";
import { PinnedFolder } from "./pinned-folder.ts";

let root = "";
let dir = "";
let outside = "";
let odd: Oddity[] = [];
let folder: PinnedFolder;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "gt-pinned-"));
  dir = join(root, "dir");
  outside = join(root, "outside");
  for (const made of [dir, outside]) mkdirSync(made);
  writeFileSync(join(outside, "key"), "secret");
  odd = [];
  folder = PinnedFolder.at(dir, { strict: false, onOdd: (oddity) => void odd.push(oddity) });
});
afterEach(() => {
  folder[Symbol.dispose]();
  rmSync(root, { recursive: true });
});

describe("a file in a pinned folder", () => {
  it("is read up to the given number of bytes", async () => {
    writeFileSync(join(dir, "a"), "grün");
    expect([await folder.readText("a", 5), await folder.readText("a", 4)]).toEqual(["grün", undefined]);
    expect([await folder.readText("none", 5), odd]).toEqual([undefined, []]);
  });

  it.each<[string, Oddity, (path: string) => unknown]>([
    ["a link to a file outside", "link", (path) => symlinkSync(join(outside, "key"), path)],
    ["a link to nothing", "link", (path) => symlinkSync("/nowhere", path)],
    ["a second name of a file", "link", (path) => linkSync(join(outside, "key"), path)],
    ["a folder", "kind", (path) => mkdirSync(path)],
    ["a FIFO without a writer", "kind", (path) => execFileSync("mkfifo", [path])],
  ])("is not opened if it is %s", async (_, oddity, put) => {
    put(join(dir, "a"));
    expect(await folder.readText("a", 100)).toBe(undefined);
    expect(() => folder.openFile("a", constants.O_RDWR)).toThrow(OddFileError);
    expect(odd).toEqual([oddity, oddity]);
  });

  it.skipIf(process.getuid?.() !== 0)("is not opened if it belongs to another user", async () => {
    writeFileSync(join(dir, "a"), "x");
    chownSync(join(dir, "a"), 4711, 4711);
    expect([await folder.readText("a", 5), odd]).toEqual([undefined, ["owner"]]);
  });

  it.each(["", ".", "..", "a/b", "../outside/key", "a\0"])("cannot be named %j", async (name) => {
    expect(() => folder.place(name)).toThrow(expect.objectContaining({ kind: "invalid" }));
  });
});

it("a FIFO is opened without a wait, and a file in its place is refused", () => {
  execFileSync("mkfifo", [join(dir, "fifo")]);
  closeSync(folder.openFifo("fifo"));
  writeFileSync(join(dir, "file"), "");
  expect(() => folder.openFifo("file")).toThrow(OddFileError);
  expect(() => folder.openFifo("none")).toThrow(/ENOENT/);
});

describe("a folder that is replaced", () => {
  it("by a link is not followed", async () => {
    writeFileSync(join(dir, "a"), "mine");
    expect(await folder.readText("a", 9)).toBe("mine");
    renameSync(dir, join(root, "away"));
    symlinkSync(outside, dir);
    expect([await folder.readText("key", 9), odd]).toEqual([undefined, ["link"]]);
  });

  it("by another folder is left for the new one", async () => {
    writeFileSync(join(dir, "a"), "before");
    expect(await folder.readText("a", 9)).toBe("before");
    rmSync(dir, { recursive: true });
    expect(await folder.readText("a", 9)).toBe(undefined);
    mkdirSync(dir);
    writeFileSync(join(dir, "a"), "after");
    expect([await folder.readText("a", 9), odd]).toEqual(["after", []]);
  });

  it("in it by a link is not followed, whatever it leads to", async () => {
    mkdirSync(join(dir, "sub"));
    using sub = folder.inside("sub");
    writeFileSync(join(dir, "sub/a"), "mine");
    expect(await sub.readText("a", 9)).toBe("mine");
    rmSync(join(dir, "sub"), { recursive: true });
    symlinkSync(outside, join(dir, "sub"));
    expect(await sub.readText("key", 9)).toBe(undefined);
    sub.remove("key");
    expect(readFileSync(join(outside, "key"), "utf8")).toBe("secret");
  });
});

it("a strict folder has no link anywhere in its path; another one is only not a link itself", () => {
  symlinkSync(root, join(root, "round"));
  const by = (path: string, strict: boolean) => {
    using found = PinnedFolder.at(path, { strict });
    return found.place("x");
  };
  expect(() => by(join(root, "round/dir"), true)).toThrow(OddFileError);
  expect(by(join(root, "round/dir"), false)).toMatch(/x$/);
  expect(by(dir, true)).toMatch(/x$/);
  symlinkSync(dir, join(root, "itself"));
  expect(() => by(join(root, "itself"), false)).toThrow(OddFileError);
});

describe("remove", () => {
  it("removes a tree, and of a link in it only the link", () => {
    mkdirSync(join(dir, "tree/deep/er"), { recursive: true });
    symlinkSync(outside, join(dir, "tree/deep/link"));
    symlinkSync(outside, join(dir, "link"));
    for (const name of ["tree", "link", "none"]) folder.remove(name);
    expect(readdirSync(dir)).toEqual([]);
    expect(existsSync(join(outside, "key"))).toBe(true);
  });

  it("removes a thousand entries at a time, and the others later", () => {
    mkdirSync(join(dir, "many"));
    for (let i = 0; i < 1500; i++) writeFileSync(join(dir, "many", String(i)), "");
    folder.remove("many");
    const left = readdirSync(join(dir, "many")).length;
    expect([left > 400, left < 600]).toEqual([true, true]);
    folder.remove("many");
    expect(readdirSync(dir)).toEqual([]);
  });

  it("goes no deeper than its limit", () => {
    mkdirSync(join(dir, "a/".repeat(60)), { recursive: true });
    folder.remove("a");
    expect(existsSync(join(dir, "a"))).toBe(true);
  });
});
