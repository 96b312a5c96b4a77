import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { RunProgram } from "./apt.ts";
import { ensureTmux, isNewEnough } from "./ensure-tmux.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-path-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function program(name: string): Promise<void> {
  await writeFile(join(folder, name), "");
  await chmod(join(folder, name), 0o755);
}

/** A system where `tmux -V` prints `versions[0]`, and after an installation `versions[1]`. */
function system(versions: readonly (string | undefined)[], aptCode = 0) {
  const ran: string[] = [];
  let at = 0;
  const run: RunProgram = async ([path, ...args]) => {
    ran.push([path.split("/").at(-1), ...args].join(" "));
    if (path.endsWith("tmux")) return { code: 0, output: `tmux ${versions[at]}\n` };
    if (args.includes("install") && aptCode === 0) {
      at = 1;
      await program("tmux");
    }
    return { code: aptCode, output: "Reading lists\nE: no network\n" };
  };
  const lines: string[] = [];
  const ensure = (uid: number) => ensureTmux({ log: (line) => lines.push(line), env: { PATH: folder }, uid, run });
  return { ran, lines, ensure };
}

it("uses an installed tmux and runs nothing else", async () => {
  await program("tmux");
  const { ran, ensure } = system(["3.3a"]);
  expect(await ensure(0)).toEqual({ path: join(folder, "tmux"), version: "3.3a" });
  expect(ran).toEqual(["tmux -V"]);
});

it("installs one as root if apt-get exists, and reports what it does", async () => {
  await program("apt-get");
  const { ran, lines, ensure } = system([undefined, "3.5a"]);
  expect((await ensure(0)).version).toBe("3.5a");
  expect(ran).toEqual(["apt-get -q update", "apt-get -q install --yes --no-install-recommends tmux", "tmux -V"]);
  expect(lines[0]).toBe("tmux is not installed: installing it with apt-get");
});

it("replaces one that is too old", async () => {
  await program("tmux");
  await program("apt-get");
  const { lines, ensure } = system(["2.8", "3.3a"]);
  expect((await ensure(0)).version).toBe("3.3a");
  expect(lines[0]).toContain("is tmux 2.8, too old");
});

it("never installs anything for a user who is not root", async () => {
  await program("apt-get");
  const { ran, ensure } = system([]);
  await expect(ensure(1000)).rejects.toMatchObject({
    kind: "unavailable",
    message: "tmux 3.2 or newer is needed: tmux is not installed",
    fields: { hint: expect.stringContaining("brew install tmux") },
  });
  expect(ran).toEqual([]);
});

it("reports the last line of apt-get if it fails", async () => {
  await program("apt-get");
  await expect(system([], 100).ensure(0)).rejects.toThrow("apt-get update failed (exit 100): E: no network");
});

it.each([
  ["3.2", true],
  ["3.3a", true],
  ["4.0", true],
  ["next-3.8", true],
  ["3.1c", false],
  ["2.9", false],
  ["master", false],
  ["openbsd-7.5", true],
])("version %s is new enough: %s", (version, enough) => {
  expect(isNewEnough(version)).toBe(enough);
});
