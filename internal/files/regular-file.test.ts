import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readRegularFile, readRegularFileSync } from "./regular-file.ts";

describe("a file that a configuration names", () => {
  let dir: string;
  const at = (name: string) => join(dir, name);

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "gt-file-"));
    writeFileSync(at("text"), "hällo\n");
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it("is read, also through links", async () => {
    symlinkSync("text", at("link"));
    for (const name of ["text", "link"]) {
      expect(readRegularFileSync(at(name))).toBe("hällo\n");
      await expect(readRegularFile(at(name))).resolves.toBe("hällo\n");
    }
  });

  it.each([
    ["FIFO", "it is not a regular file", (path: string) => void execFileSync("mkfifo", [path])],
    ["device", "it is not a regular file", (path: string) => symlinkSync("/dev/zero", path)],
    ["folder", "it is a folder", (path: string) => mkdirSync(path)],
    [
      "file of 16 MiB and a byte",
      "it has more than 16777216 bytes",
      (path: string) => {
        writeFileSync(path, "");
        truncateSync(path, 16 * 1024 * 1024 + 1);
      },
    ],
  ])("is refused at once if it is a %s", async (_, message, make) => {
    make(at("odd"));
    expect(() => readRegularFileSync(at("odd"))).toThrow(message);
    await expect(readRegularFile(at("odd"))).rejects.toThrow(message);
  });

  it("is named in the system's error if it does not exist", async () => {
    expect(() => readRegularFileSync(at("none"))).toThrow("ENOENT");
    await expect(readRegularFile(at("none"))).rejects.toMatchObject({ code: "ENOENT" });
  });
});
