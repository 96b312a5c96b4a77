import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runtimeFolder } from "../../files/private-folder.ts";
import {
  announceSidecar,
  type FolderDeps,
  type LocalSidecar,
  listLocalSidecars,
  parseSidecar,
} from "./local-sidecars.ts";

const uid = process.getuid?.() ?? 0;
const sidecar: LocalSidecar = {
  agent: "gastown/polecats/toast",
  listen: "127.0.0.1:9090",
  pid: 77,
  sessionId: "s-1",
  project: "default",
  provider: "demo",
  tls: false,
  startedAt: Date.parse("2026-11-22T03:00:00Z"),
};

function deps(running: Record<number, string | undefined>): FolderDeps {
  return { uid, processes: { exists: (pid) => pid in running, identity: (pid) => running[pid] } };
}

let base: string;
let folder: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "gt-sidecars-test-"));
  folder = join(base, "gt-sidecars");
});
afterEach(() => rm(base, { recursive: true }));

describe("announcing", () => {
  it("lists a running sidecar until its file is removed", async () => {
    const running = deps({ 77: "100" });
    const announced = await announceSidecar(folder, sidecar, running);
    expect(await listLocalSidecars(folder, running)).toEqual([sidecar]);
    await announced[Symbol.asyncDispose]();
    expect(await listLocalSidecars(folder, running)).toEqual([]);
  });

  it("writes a private file and folder, and never a partial file", async () => {
    await announceSidecar(folder, sidecar, deps({ 77: "100" }));
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, "s-1.json"))).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(["s-1.json"]);
    expect(JSON.parse(await readFile(join(folder, "s-1.json"), "utf8"))).toMatchObject({
      agent: "gastown/polecats/toast",
      listen: "127.0.0.1:9090",
      pid: 77,
      session_id: "s-1",
      project: "default",
      provider: "demo",
      tls: false,
      started_at: "2026-11-22T03:00:00.000Z",
    });
  });
});

describe("listing", () => {
  it("finds none without a folder", async () => {
    expect(await listLocalSidecars(folder, deps({}))).toEqual([]);
  });

  it.each<[string, Record<number, string | undefined>]>([
    ["ended", {}],
    ["ended and whose pid another process now has", { 77: "200" }],
  ])("removes the file of a sidecar that has %s", async (_, running) => {
    await announceSidecar(folder, sidecar, deps({ 77: "100" }));
    expect(await listLocalSidecars(folder, deps(running))).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
  });

  it("keeps files that it does not understand", async () => {
    await mkdir(folder, { mode: 0o700 });
    await writeFile(join(folder, "x.json"), "not json");
    await writeFile(join(folder, "other.txt"), "x");
    expect(await listLocalSidecars(folder, deps({}))).toEqual([]);
    expect((await readdir(folder)).sort()).toEqual(["other.txt", "x.json"]);
  });

  it("refuses a folder that is open to others, a link, or another user's", async () => {
    await mkdir(folder, { mode: 0o700 });
    await symlink(folder, join(base, "link"));
    await expect(listLocalSidecars(join(base, "link"), deps({}))).rejects.toMatchObject({ kind: "denied" });
    await expect(announceSidecar(join(base, "link"), sidecar, deps({}))).rejects.toMatchObject({ kind: "denied" });
    await expect(listLocalSidecars(folder, { ...deps({}), uid: uid + 1 })).rejects.toMatchObject({ kind: "denied" });
    await chmod(folder, 0o755);
    await expect(listLocalSidecars(folder, deps({}))).rejects.toThrow(/others may use it \(mode 755\)/);
  });
});

describe("reading a file", () => {
  const good = {
    agent: "a",
    listen: "[::1]:9090",
    pid: 1,
    session_id: "s",
    project: "p",
    provider: "demo",
    tls: true,
    started_at: "2026-11-22T03:00:00Z",
  };

  it("accepts an announced sidecar", () => {
    expect(parseSidecar(JSON.stringify(good), "s.json")?.sidecar.listen).toBe("[::1]:9090");
    const local = JSON.stringify({ ...good, listen: "unix:/run/a.sock" });
    expect(parseSidecar(local, "s.json")?.sidecar.listen).toBe("unix:/run/a.sock");
  });

  it.each([
    { listen: "127.0.0.1" },
    { listen: "127.0.0.1:0" },
    { listen: "127.0.0.1:99999" },
    { listen: "http://127.0.0.1:9090" },
    { listen: "a b:1" },
    { listen: "unix:relative.sock" },
    { pid: -1 },
    { pid: 1.5 },
    { pid: "1" },
    { session_id: "other" },
    { started_at: "soon" },
    { tls: "no" },
    { agent: 7 },
    { agent: "x".repeat(513) },
  ])("refuses it with %j", (change) => {
    expect(parseSidecar(JSON.stringify({ ...good, ...change }), "s.json")).toBeUndefined();
  });
});

it("uses XDG_RUNTIME_DIR, or else a folder of /tmp that names the user", () => {
  expect(runtimeFolder({ xdgRuntimeDir: base, uid })).toBe(folder);
  expect(runtimeFolder({ uid: 5 })).toBe("/tmp/gt-sidecars-5");
  // Another user's, as su leaves it.
  expect(runtimeFolder({ xdgRuntimeDir: "/usr", uid: 5 })).toBe("/tmp/gt-sidecars-5");
  expect(runtimeFolder({ xdgRuntimeDir: "rel", uid: 5 })).toBe("/tmp/gt-sidecars-5");
});
