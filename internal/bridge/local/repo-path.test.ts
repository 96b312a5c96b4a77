import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DomainError } from "../../base/errors.ts";
import { openRepo } from "./repo-path.ts";

let top: string;
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "gt-repos-")));
  for (const folder of [
    "repos/app/src",
    "repos-evil",
    "Repos",
    "home/ann/repos/x",
    "home/ann/other",
    "real",
    "outside",
  ])
    mkdirSync(join(top, folder), { recursive: true });
  writeFileSync(join(top, "repos/file"), "");
  symlinkSync(join(top, "outside"), join(top, "repos/link"));
  symlinkSync("app", join(top, "repos/inner"));
  symlinkSync(join(top, "outside"), join(top, "repos/app/out"));
  symlinkSync(join(top, "home/ann"), join(top, "home/eve"));
  symlinkSync(join(top, "real"), join(top, "by-link"));
});
afterEach(() => rmSync(top, { recursive: true }));

function outcome(path: string, allowed = ["repos", "home/*/repos", "by-link"]): string {
  try {
    using folder = openRepo(
      path,
      allowed.map((one) => join(top, one)),
    );
    return statSync(folder.cwd).ino === statSync(path).ino ? "allowed" : "another folder";
  } catch (err) {
    return err instanceof DomainError ? err.kind : String(err);
  }
}

describe("a path", () => {
  it.each<[string, string]>([
    ["repos", "allowed"],
    ["repos/app", "allowed"],
    ["repos/app/src/", "allowed"],
    ["home/ann/repos", "allowed"],
    ["home/ann/repos/x", "allowed"],
    ["by-link", "allowed"],
    ["repos/missing", "invalid"],
    ["repos/file", "invalid"],
    ["repos/file/x", "invalid"],
    ["repos-evil", "denied"],
    ["Repos", "denied"],
    ["repo", "denied"],
    ["", "denied"],
    ["home/ann", "denied"],
    ["home/ann/other", "denied"],
    ["home/repos", "denied"],
    ["home/ann/x/repos", "denied"],
    ["repos/../outside", "denied"],
    ["repos/app/..", "denied"],
    ["repos/./app", "denied"],
    ["repos//app", "denied"],
    ["repos/link", "denied"],
    ["repos/inner", "denied"],
    ["repos/inner/src", "denied"],
    ["repos/app/out", "denied"],
    ["home/eve/repos", "denied"],
    ["repos/ap\u0000p", "denied"],
    ["repos/app\n", "denied"],
    ["repos/\ud800", "denied"],
    ["repos/%61pp", "invalid"],
    ["repos/ａｐｐ", "invalid"],
    [`repos/${"x".repeat(256)}`, "denied"],
  ])("%j is %s", (path, kind) => {
    expect(outcome(`${top}/${path}`)).toBe(kind);
  });

  it("that is not absolute is invalid, and any other is denied if none is allowed", () => {
    expect(outcome("repos")).toBe("invalid");
    expect(outcome("./repos")).toBe("invalid");
    expect(outcome(join(top, "repos"), [])).toBe("denied");
  });

  it("leads to the checked folder, whatever takes its name later", () => {
    const path = join(top, "repos/app");
    using folder = openRepo(path, [join(top, "repos")]);
    const { ino } = statSync(path);
    renameSync(path, join(top, "repos/moved"));
    symlinkSync(join(top, "outside"), path);
    expect(statSync(folder.cwd).ino).toBe(ino);
  });

  it("whose folders are constantly swapped for links never leads outside", () => {
    const path = join(top, "repos/app");
    const outside = statSync(join(top, "outside")).ino;
    const kinds = new Set<string>();
    for (let i = 0; i < 200; i++) {
      if (i % 2 === 0) {
        renameSync(path, join(top, "repos/moved"));
        symlinkSync(join(top, "outside"), path);
      } else {
        rmSync(path);
        renameSync(join(top, "repos/moved"), path);
      }
      try {
        using folder = openRepo(path, [join(top, "repos")]);
        kinds.add(statSync(folder.cwd).ino === outside ? "outside" : "allowed");
      } catch (err) {
        kinds.add((err as DomainError).kind);
      }
    }
    expect([...kinds].toSorted()).toEqual(["allowed", "denied"]);
  });
});
