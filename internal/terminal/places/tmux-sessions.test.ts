import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { PlaceConfig } from "./place-config.ts";
import { listTmuxSessions, sessionsIn } from "./tmux-sessions.ts";

it("reads the sessions of a server, and the pane of those that have only one", () => {
  const { names, version, onlyPanes } = sessionsIn("3.3a 1 1 %4 hq-mayor\n3.3a 1 2 %2 b c\n3.3a 2 1 %3 a\n");
  expect(names).toEqual(["hq-mayor", "b c", "a"]);
  expect(version).toBe("3.3a");
  expect([...onlyPanes]).toEqual([["hq-mayor", "%4"]]);
});

it("finds nothing in the output of a server without sessions", () => {
  expect(sessionsIn("\n")).toMatchObject({ names: [] });
  expect(sessionsIn("").version).toBeUndefined();
});

it("tells a server that is gone from a tmux that cannot ask it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gt-sessions-"));
  const socket = join(folder, "default");
  const server = createServer();
  try {
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    await mkdir(join(folder, "bin"));
    const place: PlaceConfig = {
      cwd: folder,
      env: { PATH: join(folder, "bin") },
      localOnly: false,
      tls: {},
      uid: process.getuid?.() ?? 0,
    };
    const list = () => listTmuxSessions(socket, place, AbortSignal.timeout(10_000));
    await expect(list()).rejects.toMatchObject({
      kind: "unavailable",
      message: `cannot ask the tmux server at ${socket}: tmux is not in PATH`,
    });
    const fail = async (message: string) => {
      await writeFile(join(folder, "bin/tmux"), `#!/bin/sh\necho "${message}" >&2\nexit 1\n`);
      await chmod(join(folder, "bin/tmux"), 0o755);
    };
    await fail("tmux: need UTF-8 locale (LC_CTYPE) but have ANSI_X3.4-1968");
    await expect(list()).rejects.toMatchObject({ message: expect.stringMatching(/does not answer: .*need UTF-8/) });
    await fail(`no server running on ${socket}`);
    expect((await list()).names).toEqual([]);
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
});
