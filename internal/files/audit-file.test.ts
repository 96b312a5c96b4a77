import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";

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

it("is appended to, and private to its owner", () => {
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

it("continues in a new file after it was rotated away", () => {
  using file = open();
  file.write("one\n");
  renameSync(path, `${path}.1`);
  file.write("two\n");
  expect([`${path}.1`, path].map((name) => readFileSync(name, "utf8"))).toEqual(["one\n", "two\n"]);
});

it("never follows a link, and reports a lost line", () => {
  using file = open();
  rmSync(path);
  symlinkSync(join(dir, "elsewhere"), path);
  file.write("one\n");
  expect(failed).toEqual([expect.objectContaining({ kind: "precondition" })]);
  rmSync(path);
  file.write("two\n");
  expect(readFileSync(path, "utf8")).toBe("two\n");
});

it("is refused by name if no line can be appended, and is not created by a check", () => {
  const refusal = (at: string, reason: string) => `cannot write to the audit log ${at}: ${reason}`;
  const missing = join(dir, "none", "audit.log");
  expect(() => checkAuditFile(missing)).toThrow(refusal(missing, "there is no such folder"));
  expect(() => checkAuditFile(dir)).toThrow(refusal(dir, "it is a folder"));
  symlinkSync("elsewhere", path);
  expect(() => checkAuditFile(path)).toThrow(refusal(path, "it is a link"));
  rmSync(path);
  checkAuditFile(path);
  expect(existsSync(path)).toBe(false);
  appendFileSync(path, "one\n");
  checkAuditFile(path);
  expect(() => checkAuditFile(join(path, "audit.log"))).toThrow("cannot write to");
});
