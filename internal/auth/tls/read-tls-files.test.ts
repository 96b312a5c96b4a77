import { renameSync, rmSync, symlinkSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readTlsFiles } from "./read-tls-files.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-tls-"));
});
afterEach(() => rm(dir, { recursive: true }));

async function write(folder: string, version: string, names = ["tls.crt", "tls.key", "ca.crt"]) {
  await mkdir(folder, { recursive: true });
  for (const name of names) await writeFile(join(folder, name), `${name} ${version}`);
}

/** Writes a new version of a Secret as the kubelet does. */
async function swap(version: string, names?: string[]) {
  await write(join(dir, `..${version}`), version, names);
  await symlink(`..${version}`, join(dir, "..data_tmp"));
  await rename(join(dir, "..data_tmp"), join(dir, "..data"));
}

describe("a plain folder", () => {
  it("provides its files, with a revocation list if there is one", async () => {
    await write(dir, "1");
    expect(await readTlsFiles(dir)).toEqual({ cert: "tls.crt 1", key: "tls.key 1", ca: "ca.crt 1" });
    await writeFile(join(dir, "crl.pem"), "list");
    expect(await readTlsFiles(dir)).toMatchObject({ crl: "list" });
  });

  it.each(["tls.crt", "tls.key", "ca.crt"])("without %s is refused, and the error names the file", async (missing) => {
    await write(
      dir,
      "1",
      ["tls.crt", "tls.key", "ca.crt"].filter((name) => name !== missing),
    );
    const message = `cannot read ${join(dir, missing)}: there is no such file`;
    await expect(readTlsFiles(dir)).rejects.toMatchObject({ kind: "invalid", message });
  });
});

describe("a mounted Secret", () => {
  it("provides the version that its link names", async () => {
    await swap("1");
    await swap("2");
    expect(await readTlsFiles(dir)).toMatchObject({ cert: "tls.crt 2", ca: "ca.crt 2" });
  });

  it("does not mix versions, even if an older one has additional files", async () => {
    await swap("1", ["tls.crt", "tls.key", "ca.crt", "crl.pem"]);
    await swap("2");
    expect(await readTlsFiles(dir)).not.toHaveProperty("crl");
  });

  it("is read again when it is swapped in the middle of a read", async () => {
    await swap("0");
    for (let i = 1; i <= 50; i++) {
      await write(join(dir, `..${i}`), String(i));
      symlinkSync(`..${i}`, join(dir, "..data_tmp"));
      const reading = readTlsFiles(dir);
      for (let turn = 0; turn < i % 10; turn++) await setImmediate();
      renameSync(join(dir, "..data_tmp"), join(dir, "..data"));
      rmSync(join(dir, `..${i - 1}`), { recursive: true });
      expect([`tls.crt ${i - 1}`, `tls.crt ${i}`]).toContain((await reading).cert);
    }
  });

  it("never provides a mixture while it is swapped as fast as possible", async () => {
    await swap("0");
    const stop = new AbortController();
    const swapping = (async () => {
      for (let i = 1; !stop.signal.aborted; i++) await swap(String(i));
    })();
    const seen = new Set<string>();
    for (let i = 0; i < 300 && seen.size < 40; i++) {
      const files = await readTlsFiles(dir).catch(() => undefined);
      if (files === undefined) continue;
      const versions = Object.values(files).map((text) => text.split(" ")[1]);
      expect(new Set(versions).size).toBe(1);
      seen.add(String(versions[0]));
    }
    stop.abort();
    await swapping;
    expect(seen.size).toBeGreaterThan(1);
  }, 120_000);
});
