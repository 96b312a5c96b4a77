import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { runToEnd } from "../support/run-to-end.ts";

// It starts a database and five programs, which takes minutes on a busy machine.
const TOUR_MS = 400_000;

it("npm start -- --threads --once wakes demo agents that review and fix, prints receipts, and leaves nothing behind", {
  timeout: TOUR_MS,
}, async () => {
  const runtime = await mkdtemp(join(tmpdir(), "gt-threads-start-"));
  try {
    const main = fileURLToPath(new URL("../../scripts/start/main.ts", import.meta.url));
    const env = { ...process.env, XDG_RUNTIME_DIR: runtime };
    const { code, stdout, stderr } = await runToEnd(process.execPath, [main, "--threads", "--once"], { env });
    expect([code, stderr], stdout).toEqual([0, ""]);
    for (const event of ["finding_reported", "fix_pushed", "resolved"]) expect(stdout).toContain(event);
    expect(stdout).toMatch(/^\w+ {2}ACKED {2}demo\/reviewer {2}submitted$/m);
    expect(stdout).toMatch(/^\w+ {2}ACKED {2}demo\/fixer {2}submitted$/m);
    expect(stdout).toMatch(/all as expected\n$/);
    const [, stateDir = ""] = /PostgreSQL of its own in (\S+)/.exec(stdout) ?? [];
    await expect(readdir(stateDir)).rejects.toThrow("ENOENT");
    expect(await readdir(join(runtime, "gt-sidecars"))).toEqual([]);
  } finally {
    await rm(runtime, { recursive: true, force: true });
  }
});
