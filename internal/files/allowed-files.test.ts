import { linkSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AllowedFiles } from "./allowed-files.ts";
import { pathPattern } from "./path-patterns.ts";

const MAX_BYTES = 1000;
const allowed = { patterns: [pathPattern("/docs/**")], maxBytes: MAX_BYTES };

let folder: string;
let files: AllowedFiles;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "allowed-"));
  for (const name of ["docs", "docs/below", "docs-private", "admin"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, "docs/a.md"), "text\n");
  writeFileSync(join(folder, "docs/below/b.md"), "below\n");
  writeFileSync(join(folder, "admin/secret.md"), "secret\n");
  writeFileSync(join(folder, "docs-private/secret.md"), "secret\n");
  files = new AllowedFiles(join(folder, "docs"), "/docs");
});

afterEach(() => {
  files[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

const read = (path: string) => {
  const result = files.read(path, allowed);
  return result.ok ? result.text : result.reason;
};

// Descriptors belong to the process, which runs no other test file meanwhile.
describe.runIf(process.platform === "linux")("read", () => {
  it("reads files below its root", () => {
    expect(read("/docs/a.md")).toBe("text\n");
    expect(read("/docs/below/b.md")).toBe("below\n");
    expect(files.list(allowed, 10)).toEqual(["/docs/a.md", "/docs/below/b.md"]);
    expect(files.list(allowed, 1)).toEqual(["/docs/a.md"]);
  });

  it.each([
    ["another prefix", "/admin/secret.md"],
    ["a sibling's prefix", "/docs-private/secret.md"],
    ["the prefix alone", "/docs"],
    ["a slash at the end", "/docs/a.md/"],
    ["..", "/docs/../admin/secret.md"],
    [".. in the middle", "/docs/below/../a.md"],
    [".", "/docs/./a.md"],
    ["an empty part", "/docs//a.md"],
    ["no slash before it", "docs/a.md"],
    ["a NUL", "/docs/a.md\0"],
    ["a line feed", "/docs/a\n.md"],
    ["an ill-formed string", "/docs/\ud800"],
    ["a part that is too long", `/docs/${"a".repeat(256)}`],
    ["4,097 bytes", `/docs${"/a".repeat(2046)}`],
    ["a folder", "/docs/below"],
    ["the system's root", "/etc/passwd"],
    ["nothing", ""],
  ])("does not allow a path with %s", (_, path) => expect(read(path)).toBe("not allowed"));

  it.each(["/docs/%61.md", "/docs/A.md", "/docs/a.md%00", "/docs/a\u0301.md", "/docs/a.md/b"])(
    "does not decode, fold or normalise: %s",
    (path) => expect(["not found", "not allowed"]).toContain(read(path)),
  );

  it("does not follow links, whatever they point to", () => {
    symlinkSync("a.md", join(folder, "docs/link.md"));
    symlinkSync("../admin", join(folder, "docs/out"));
    symlinkSync("/proc/self/fd", join(folder, "docs/fd"));
    linkSync(join(folder, "admin/secret.md"), join(folder, "docs/second-name.md"));
    for (const path of ["/docs/link.md", "/docs/out/secret.md", "/docs/fd/0", "/docs/second-name.md"])
      expect(read(path)).toBe("not allowed");
    expect(files.list(allowed, 10)).toEqual(["/docs/a.md", "/docs/below/b.md"]);
  });

  it("stays with the folder that it opened", () => {
    renameSync(join(folder, "docs"), join(folder, "was-docs"));
    renameSync(join(folder, "admin"), join(folder, "docs"));
    expect(read("/docs/secret.md")).toBe("not found");
    expect(read("/docs/a.md")).toBe("text\n");
  });

  it("reads text only up to its limit", () => {
    writeFileSync(join(folder, "docs/full"), "a".repeat(MAX_BYTES));
    writeFileSync(join(folder, "docs/more"), "a".repeat(MAX_BYTES + 1));
    writeFileSync(join(folder, "docs/binary"), Buffer.from([0x61, 0xff]));
    expect(read("/docs/full")).toHaveLength(MAX_BYTES);
    expect(read("/docs/more")).toBe("too large");
    expect(read("/docs/binary")).toBe("not text");
  });

  it("narrows the allowed paths by patterns", () => {
    const markdown = { ...allowed, patterns: [pathPattern("/docs/*.md")] };
    expect(files.read("/docs/below/b.md", markdown)).toEqual({ ok: false, reason: "not allowed" });
    expect(files.list(markdown, 10)).toEqual(["/docs/a.md"]);
  });

  it("leaves no descriptor open", () => {
    const before = readdirSync("/proc/self/fd").length;
    for (const path of ["/docs/a.md", "/docs/below", "/docs/none", "/docs/below/none", "/docs/a.md/b"]) read(path);
    files.list(allowed, 10);
    expect(readdirSync("/proc/self/fd").length).toBe(before);
  });
});
