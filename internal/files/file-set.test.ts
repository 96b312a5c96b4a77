import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type FileOps, systemFileOps } from "./file-ops.ts";
import { type NewFile, recoverFileSets, writeFileSet } from "./file-set.ts";

const OLD: Readonly<Record<string, string>> = { "a.key": "old key", "a.crt": "old certificate" };
const NEW: Readonly<Record<string, string>> = { "a.key": "new key", "a.crt": "new certificate" };
const FILES: readonly NewFile[] = [
  { name: "a.key", content: "new key", mode: 0o600 },
  { name: "a.crt", content: "new certificate", mode: 0o644 },
];

let dir = "";
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "file-set-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function contents(): Record<string, string> {
  return Object.fromEntries(readdirSync(dir).map((name) => [name, readFileSync(join(dir, name), "utf8")]));
}

function put(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
}

class Killed extends Error {}

/**
 * Runs the first `calls` calls; at the next one the process is killed: no call works any more. A write is cut in half.
 */
function killedAfter(calls: number): FileOps {
  let left = calls;
  const guarded = Object.entries(systemFileOps).map(([name, op]) => [
    name,
    (...args: unknown[]) => {
      if (left-- > 0) return (op as (...all: unknown[]) => unknown)(...args);
      if (name === "write" && left === -1) systemFileOps.write(args[0] as number, (args[1] as Buffer).subarray(0, 3));
      throw new Killed();
    },
  ]);
  return Object.fromEntries(guarded) as FileOps;
}

/**
 * Kills at each call in turn until the set is written; returns the folder's content after each kill and after the next
 * run's start.
 */
function killedAtEach(placing: "create" | "replace", before: Readonly<Record<string, string>>) {
  const outcomes: { readonly killed: Record<string, string>; readonly recovered: Record<string, string> }[] = [];
  for (let calls = 0; calls < 100; calls++) {
    for (const name of readdirSync(dir)) rmSync(join(dir, name));
    put(before);
    try {
      writeFileSet(killedAfter(calls), dir, FILES, placing);
      return outcomes;
    } catch (err) {
      if (!(err instanceof Killed)) throw err;
    }
    const killed = contents();
    recoverFileSets(systemFileOps, dir);
    outcomes.push({ killed, recovered: contents() });
  }
  throw new Error("it never got through");
}

describe("a writer that is killed at any of its calls", () => {
  it("has created all files of a new set or none, once the next run has begun", () => {
    const outcomes = killedAtEach("create", {});
    expect(outcomes.length).toBeGreaterThan(15);
    for (const { recovered } of outcomes) expect([{}, NEW]).toContainEqual(recovered);
  });

  it("has replaced all files of a set or none, once the next run has begun", () => {
    const outcomes = killedAtEach("replace", OLD);
    expect(outcomes.length).toBeGreaterThan(15);
    for (const { recovered } of outcomes) expect([OLD, NEW]).toContainEqual(recovered);
  });

  it.each([
    ["create", {}],
    ["replace", OLD],
  ] as const)("never leaves half a file in place (%s)", (placing, before) => {
    for (const { killed } of killedAtEach(placing, before)) {
      expect([before["a.key" as never], "new key"]).toContain(killed["a.key"]);
      expect([before["a.crt" as never], "new certificate"]).toContain(killed["a.crt"]);
    }
  });

  it("puts the first file in place first", () => {
    for (const { killed } of killedAtEach("replace", OLD)) {
      if (killed["a.crt"] === "new certificate") expect(killed["a.key"]).toBe("new key");
    }
  });
});

it("creates files with their modes, whatever the umask", () => {
  const before = process.umask(0o077);
  try {
    writeFileSet(systemFileOps, dir, FILES, "create");
  } finally {
    process.umask(before);
  }
  expect(FILES.map(({ name }) => statSync(join(dir, name)).mode & 0o777)).toEqual([0o600, 0o644]);
  expect(contents()).toEqual(NEW);
});

it.each(["a.key", "a.crt"])("creates none if %s exists already, and does not change it", (name) => {
  put({ [name]: "someone's" });
  expect(() => writeFileSet(systemFileOps, dir, FILES, "create")).toThrow(
    expect.objectContaining({ kind: "already-exists", message: expect.stringContaining(name) }),
  );
  expect(contents()).toEqual({ [name]: "someone's" });
});

it("leaves nothing behind if the disk is full", () => {
  put(OLD);
  const full: FileOps = {
    ...systemFileOps,
    write: () => {
      throw Object.assign(new Error("no space"), { code: "ENOSPC" });
    },
  };
  expect(() => writeFileSet(full, dir, FILES, "replace")).toThrow("no space");
  expect(contents()).toEqual(OLD);
});

it("continues if the system writes only a part", () => {
  const slow: FileOps = { ...systemFileOps, write: (fd, bytes) => systemFileOps.write(fd, bytes.subarray(0, 2)) };
  writeFileSet(slow, dir, FILES, "create");
  expect(contents()).toEqual(NEW);
});

it("leaves other files alone, even if their names look like its own", () => {
  put({ ".bridge-ca-notes": "mine", "a.key.bak": "mine" });
  writeFileSet(systemFileOps, dir, FILES, "create");
  recoverFileSets(systemFileOps, dir);
  expect(contents()).toEqual({ ...NEW, ".bridge-ca-notes": "mine", "a.key.bak": "mine" });
});

it("replaces no link with a file, and then writes none of the set", () => {
  put({ target: "old key", "a.crt": "old certificate" });
  symlinkSync("target", join(dir, "a.key"));
  expect(() => writeFileSet(systemFileOps, dir, FILES, "replace")).toThrow(
    expect.objectContaining({ kind: "invalid", message: expect.stringContaining("a.key is a link to target") }),
  );
  expect(contents()).toEqual({ target: "old key", "a.key": "old key", "a.crt": "old certificate" });
});
