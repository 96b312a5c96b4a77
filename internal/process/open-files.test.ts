import { randomUUID } from "node:crypto";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isOpenSomewhere } from "./open-files.ts";

it.runIf(process.platform === "linux")("a file is open for as long as a process has it open", () => {
  const dir = mkdtempSync(join(tmpdir(), "gt-open-"));
  const part = randomUUID();
  try {
    expect(isOpenSomewhere(part)).toBe(false);
    const fd = openSync(join(dir, `rollout-${part}.jsonl`), "w");
    expect(isOpenSomewhere(part)).toBe(true);
    expect(isOpenSomewhere(randomUUID())).toBe(false);
    closeSync(fd);
    expect(isOpenSomewhere(part)).toBe(false);
    // A folder of that name is not the file.
    const folder = mkdtempSync(join(dir, part));
    const other = openSync(join(folder, "other"), "w");
    expect(isOpenSomewhere(part)).toBe(false);
    closeSync(other);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
