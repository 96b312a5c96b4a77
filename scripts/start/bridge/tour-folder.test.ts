import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { MAX_SOCKET_PATH_BYTES } from "../../../internal/files/temporary-folder.ts";
import { LONGEST_SOCKET } from "../../../internal/providers/terminal/terminal-folder.ts";
import { makeTourFolder } from "./tour-folder.ts";

it.each([1, 100])("has room for sockets of sessions, with a name of %i bytes at the end of TMPDIR", async (bytes) => {
  const above = await mkdtemp(join(tmpdir(), "gt-test-"));
  onTestFinished(() => rm(above, { recursive: true }));
  const usual = join(above, "t".repeat(bytes));
  await mkdir(usual);
  const folder = await makeTourFolder(usual);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  expect(Buffer.byteLength(join(folder, "state/t", LONGEST_SOCKET))).toBeLessThanOrEqual(MAX_SOCKET_PATH_BYTES);
  expect(dirname(folder)).toBe(bytes === 1 ? usual : "/tmp");
});
