import { randomUUID } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { chown, link, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findFree } from "./codex-conversation.ts";

const ID = randomUUID();
const OTHER = randomUUID();

describe.runIf(process.platform === "linux")("a conversation of Codex", () => {
  let dir = "";
  let day = "";
  beforeEach(async () => {
    dir = await realpath(await mkdtemp(join(tmpdir(), "gt-codex-")));
    day = join(dir, "home", "sessions", "2026", "11", "28");
    await mkdir(day, { recursive: true });
    await mkdir(join(dir, "work"));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  const find = (id: string = ID) => findFree(id, { CODEX_HOME: join(dir, "home") });
  const file = (id = ID) => join(day, `rollout-2026-11-28T16-37-22-${id}.jsonl`);
  const line = (payload: object = { id: ID, cwd: join(dir, "work") }) =>
    `${JSON.stringify({ type: "session_meta", payload })}\n{"type":"turn"}\n`;

  it("is found with its folder, by CODEX_HOME or in the home", async () => {
    await writeFile(file(), line());
    const free = { id: ID, path: file(), sessions: join(dir, "home", "sessions"), cwd: join(dir, "work") };
    expect(await find()).toEqual(free);
    await symlink(join(dir, "home"), join(dir, ".codex"));
    expect(await findFree(ID, { HOME: dir })).toEqual(free);
    expect(await find(OTHER)).toBeUndefined();
    expect(await findFree(ID, { CODEX_HOME: join(dir, "nowhere") })).toBeUndefined();
  });

  it("is not free while a process has its file or its lock open", async () => {
    await writeFile(file(), line());
    for (const path of [file(), join(dir, "home", `${ID}.lock`)]) {
      const fd = openSync(path, "a");
      expect(await find()).toBeUndefined();
      closeSync(fd);
      expect(await find()).toBeDefined();
    }
  });

  it.each(["*", "**", "../../../x", `${ID}*`, `[${ID}]`, `${ID}\n`, `-${ID}`, ID.toUpperCase(), "", "\0"])(
    "is not looked for by the name %j",
    async (id) => {
      await writeFile(file(), line());
      expect(await find(id)).toBeUndefined();
    },
  );

  it.each<[string, () => string]>([
    ["is not JSON", () => `session ${ID}\n`],
    ["is empty", () => ""],
    ["is a list", () => "[]\n"],
    ["is huge", () => line({ id: ID, cwd: join(dir, "work"), more: "x".repeat(300 * 1024) })],
    ["names another conversation", () => line({ id: OTHER, cwd: join(dir, "work") })],
    ["names no folder", () => line({ id: ID })],
    ["names a folder that is gone", () => line({ id: ID, cwd: join(dir, "gone") })],
    ["names a file", () => line({ id: ID, cwd: file() })],
    ["names a relative folder", () => line({ id: ID, cwd: "." })],
    ["names a folder with NUL", () => line({ id: ID, cwd: `${join(dir, "work")}\0` })],
  ])("is left alone if its first line %s", async (_, text) => {
    await writeFile(file(), text());
    expect(await find()).toBeUndefined();
  });

  it.each<[string, () => Promise<unknown>]>([
    ["is a link to a file elsewhere", () => symlink(join(dir, "elsewhere"), file())],
    ["has a second name", () => link(join(dir, "elsewhere"), file())],
    ["is a folder", () => mkdir(file())],
    [
      "is there twice",
      async () => [await writeFile(file(), line()), await writeFile(`${day}/rollout-x-${ID}.jsonl`, line())],
    ],
    [
      "is in a linked folder",
      async () => {
        await mkdir(join(dir, "away"));
        await writeFile(join(dir, "away", `rollout-1-${ID}.jsonl`), line());
        await symlink(join(dir, "away"), join(day, "..", "29"));
      },
    ],
  ])("is left alone if its file %s", async (_, make) => {
    await writeFile(join(dir, "elsewhere"), line());
    await make();
    expect(await find()).toBeUndefined();
  });

  it.runIf(process.getuid?.() === 0)("is left alone if its file is another user's", async () => {
    await writeFile(file(), line());
    await chown(file(), 65534, 65534);
    expect(await find()).toBeUndefined();
  });
});
