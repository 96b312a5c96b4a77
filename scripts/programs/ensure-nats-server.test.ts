import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { RunProgram } from "./apt.ts";
import { ensureNatsServer } from "./ensure-nats-server.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-nats-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function program(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, "");
  await chmod(path, 0o755);
}

/** `apt-get download` brings a package, and `dpkg-deb -x` a nats-server. */
const run: RunProgram = async ([path, ...args]) => {
  if (path === "sh") await writeFile(join(String(args[3]), "nats-server_2.deb"), "");
  else await program(join(String(args[2]), "usr/sbin/nats-server"));
  return { code: 0, output: "" };
};

const ensure = (root = "/not/here") =>
  ensureNatsServer({ log: () => {}, env: { PATH: folder, XDG_CACHE_HOME: join(folder, "cache") }, run, root });

it("keeps Debian's program in the person's own cache, and uses it from there", async () => {
  for (const name of ["apt-get", "dpkg-deb"]) await program(join(folder, name));
  const path = join(folder, "cache/gastown/nats-server/usr/sbin/nats-server");
  expect(await ensure()).toBe(path);
  expect((await stat(join(folder, "cache/gastown"))).mode & 0o777).toBe(0o700);
  await writeFile(path, "kept");
  expect([await ensure(), await readFile(path, "utf8")]).toEqual([path, "kept"]);
});

it("runs no program from a cache that others may write", async () => {
  await program(join(folder, "cache/gastown/nats-server/usr/sbin/nats-server"));
  await program(join(folder, "system/usr/sbin/nats-server"));
  await chmod(join(folder, "cache/gastown/nats-server"), 0o777);
  expect(await ensure(join(folder, "system"))).toBe(join(folder, "system/usr/sbin/nats-server"));
  for (const name of ["apt-get", "dpkg-deb"]) await program(join(folder, name));
  await expect(ensure()).rejects.toMatchObject({ message: expect.stringContaining("others may write it") });
});
