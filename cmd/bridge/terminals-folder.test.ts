import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openTerminalsFolder } from "./terminals-folder.ts";

it.each([
  { bytes: 81, isInside: true },
  { bytes: 82, isInside: false },
])("is inside the state folder if its path has at most 81 bytes: $bytes", async ({ bytes, isInside }) => {
  const above = await mkdtemp(join(tmpdir(), "gt-"));
  onTestFinished(() => rm(above, { recursive: true }));
  const state = join(above, "s".repeat(bytes - Buffer.byteLength(`${above}//t`)));
  await mkdir(state, { mode: 0o700 });
  const folder = await openTerminalsFolder(state, above, process.getuid?.() ?? 0);
  expect(dirname(folder)).toBe(isInside ? state : join(above, "gt-bridge"));
});
