import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { tellTermination } from "./termination-message.ts";

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-termination-"));
});
afterEach(() => rm(dir, { recursive: true }));

it("writes the message only if a signal ended the container", async () => {
  const file = join(dir, "log");
  await writeFile(file, "");
  await tellTermination(new AbortController().signal, file);
  expect(await readFile(file, "utf8")).toBe("");
  await tellTermination(AbortSignal.abort(), file);
  expect(await readFile(file, "utf8")).toBe("ended from outside");
});

it("writes no file if there is no kubelet", async () => {
  const file = join(dir, "log");
  await tellTermination(AbortSignal.abort(), file);
  await expect(readFile(file)).rejects.toThrow("ENOENT");
});
