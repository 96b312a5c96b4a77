import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { replaceSecret } from "./replace-secret.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gt-secret-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

it("replaces a file that others could read with a private one", () => {
  const path = join(folder, "token");
  writeFileSync(path, "old", { mode: 0o644 });
  replaceSecret(path, "new");
  expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual(["new", 0o600]);
  expect(readdirSync(folder)).toEqual(["token"]);
});

it("leaves no part of the secret if it cannot be written", () => {
  mkdirSync(join(folder, "token"));
  expect(() => replaceSecret(join(folder, "token"), "new")).toThrow("EISDIR");
  expect(() => replaceSecret(join(folder, "none", "token"), "new")).toThrow("ENOENT");
  expect(readdirSync(folder)).toEqual(["token"]);
});
