import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { readConfigFile } from "./open-cluster.ts";

const dir = mkdtempSync(join(tmpdir(), "gt-open-cluster-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

it("refuses a configuration that is a FIFO without a writer or an endless file, at once", async () => {
  const fifo = join(dir, "controller.yaml");
  execFileSync("mkfifo", [fifo]);
  for (const path of [fifo, "/dev/zero"]) {
    await expect(readConfigFile(path)).rejects.toThrow(`cannot read ${path}: it is not a regular file`);
  }
});
