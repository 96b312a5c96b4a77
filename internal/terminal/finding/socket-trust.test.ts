import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { checkTmuxSocket, distrust } from "./socket-trust.ts";

const ME = 1000;
const ours = { uid: ME, mode: 0o40_700, isDirectory: true, isSocket: false };
const socket = { uid: ME, mode: 0o140_600, isDirectory: false, isSocket: true };
const seen = { path: "/tmp/tmux-1000/default", uid: ME, folder: ours, socket };

it.each([
  ["the folder that tmux makes", seen],
  ["a folder that others may read but not change", { ...seen, path: "/srv/a/s", folder: { ...ours, mode: 0o40_755 } }],
  ["a sticky folder of the system", { ...seen, path: "/tmp/s", folder: { ...ours, uid: 0, mode: 0o41_777 } }],
  ["tmux's folder, as tmux makes it", { ...seen, socket: { ...socket, mode: 0o140_660 } }],
  ["tmux's folder, with a client attached", { ...seen, socket: { ...socket, mode: 0o140_770 } }],
  ["any private folder", { ...seen, path: "/srv/a/s", socket: { ...socket, mode: 0o140_660 } }],
])("trusts one's own socket in %s", (_, what) => {
  expect(distrust(what)).toBeUndefined();
});

it.each([
  ["a tmux folder that another user made first", { folder: { ...ours, uid: 7 } }, "/tmp/tmux-1000 belongs to user 7"],
  ["a tmux folder of the system", { folder: { ...ours, uid: 0 } }, "/tmp/tmux-1000 belongs to user 0"],
  ["a tmux folder open to others", { folder: { ...ours, mode: 0o40_701 } }, "others may use /tmp/tmux-1000 (mode 701)"],
  ["a link in place of the folder", { folder: { ...ours, isDirectory: false } }, "/tmp/tmux-1000 is not a folder"],
  ["another user's folder", { path: "/srv/a/s", folder: { ...ours, uid: 7 } }, "/srv/a belongs to user 7"],
  [
    "a folder to which all may write",
    { path: "/srv/a/s", folder: { ...ours, mode: 0o40_777 } },
    "others may use /srv/a",
  ],
  ["another user's socket", { socket: { ...socket, uid: 7 } }, "it belongs to user 7"],
  [
    "a socket that all may use in a folder that all may enter",
    { path: "/srv/a/s", folder: { ...ours, mode: 0o40_755 }, socket: { ...socket, mode: 0o140_666 } },
    "others may use it (mode 666)",
  ],
  [
    "a socket for a group that may enter tmux's folder",
    { folder: { ...ours, mode: 0o40_710 }, socket: { ...socket, mode: 0o140_660 } },
    "others may use it (mode 660)",
  ],
  [
    "a socket for a group in a sticky folder of the system",
    {
      path: "/tmp/s",
      folder: { ...ours, uid: 0, mode: 0o41_777 },
      socket: { ...socket, mode: 0o140_660 },
    },
    "others may use it (mode 660)",
  ],
  ["a file", { socket: { ...socket, isSocket: false } }, "it is not a socket"],
])("does not trust %s", (_, change, reason) => {
  expect(distrust({ ...seen, ...change })).toContain(reason);
});

let dir = "";
const server = createServer();
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-socket-"));
  await mkdir(join(dir, "tmux-1"), { mode: 0o700 });
  await new Promise<void>((resolve) => server.listen(join(dir, "tmux-1", "s"), resolve));
  await chmod(join(dir, "tmux-1", "s"), 0o600);
});
afterAll(async () => {
  server.close();
  await rm(dir, { recursive: true, force: true });
});

it("checks the files themselves", async () => {
  const uid = process.getuid?.() ?? 0;
  expect(await checkTmuxSocket(join(dir, "tmux-1", "s"), uid)).toBe(true);
  expect(await checkTmuxSocket(join(dir, "tmux-1", "none"), uid)).toBe(false);
  expect(await checkTmuxSocket(join(dir, "none", "s"), uid)).toBe(false);
  await expect(checkTmuxSocket(join(dir, "tmux-1", "s"), uid + 1)).rejects.toThrow("belongs to user");
  await symlink(join(dir, "tmux-1"), join(dir, "tmux-2"));
  await expect(checkTmuxSocket(join(dir, "tmux-2", "s"), uid)).rejects.toThrow("is not a folder");
  await writeFile(join(dir, "tmux-1", "file"), "", { mode: 0o600 });
  await expect(checkTmuxSocket(join(dir, "tmux-1", "file"), uid)).rejects.toThrow("it is not a socket");
});
