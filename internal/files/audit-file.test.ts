import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { AuditFile, checkAuditFile } from "./audit-file.ts";

let dir: string;
let path: string;
const failed: unknown[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "audit-file-"));
  path = join(dir, "audit.log");
  failed.length = 0;
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const open = () => new AuditFile(path, (err) => failed.push(err));

it("is appended to, and its owner's alone", () => {
  appendFileSync(path, "before\n", { mode: 0o600 });
  using file = open();
  file.write("one\n");
  expect(readFileSync(path, "utf8")).toBe("before\none\n");
  rmSync(path);
  file.write("two\n");
  expect(readFileSync(path, "utf8")).toBe("two\n");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(failed).toEqual([]);
});

it("continues in a new file when it was rotated away", () => {
  using file = open();
  file.write("one\n");
  renameSync(path, `${path}.1`);
  file.write("two\n");
  expect([`${path}.1`, path].map((name) => readFileSync(name, "utf8"))).toEqual(["one\n", "two\n"]);
});

it("never follows a link, and tells that a line is lost", () => {
  using file = open();
  rmSync(path);
  symlinkSync(join(dir, "elsewhere"), path);
  file.write("one\n");
  expect(failed).toEqual([expect.objectContaining({ kind: "precondition" })]);
  rmSync(path);
  file.write("two\n");
  expect(readFileSync(path, "utf8")).toBe("two\n");
});

it("is refused by name where no line can be appended", () => {
  const missing = join(dir, "none", "audit.log");
  expect(() => checkAuditFile(missing)).toThrow(`cannot write to the audit log ${missing}: there is no such folder`);
  expect(() => checkAuditFile(dir)).toThrow(
    `cannot write to the audit log ${dir}: ${dir} is not a file of ours: EISDIR`,
  );
  expect(() => checkAuditFile(path)).not.toThrow();
});
