import { chmod, mkdir, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { payloadName } from "../../internal/agents/hook-lines.ts";
import { hookCommand, hookScript } from "../../internal/agents/hook-script.ts";
import { runMerged } from "../support/run-to-end.ts";

let dir: string;
let fifo: string;
let hookDir: string;
let script: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-hook it's "));
  fifo = join(dir, "hooks.fifo");
  hookDir = join(dir, "payloads");
  script = join(dir, "hook.sh");
  await mkdir(hookDir, { mode: 0o700 });
  await writeFile(script, hookScript());
});

afterEach(() => rm(dir, { recursive: true, force: true }));

interface Done {
  readonly code: number | null;
  readonly output: string;
  readonly ms: number;
}

async function fire(event: string, spool: boolean, payload: string): Promise<Done> {
  const began = performance.now();
  const env = { PATH: "/usr/bin:/bin", GT_HOOK_FIFO: fifo, GT_HOOK_DIR: hookDir };
  const { code, output } = await runMerged("sh", ["-c", hookCommand(script, event, spool)], { env, input: payload });
  return { code, output, ms: performance.now() - began };
}

describe("the hook script", () => {
  it("succeeds without effect when there is no FIFO", async () => {
    expect(await fire("prompt-submitted", true, "{}")).toMatchObject({ code: 0, output: "" });
    expect(await readdir(hookDir)).toEqual([]);
  });

  it("writes nothing into a plain file that replaced the FIFO", async () => {
    await writeFile(fifo, "");
    await fire("turn-ended", false, "{}");
    expect(await readFile(fifo, "utf8")).toBe("");
  });

  it("does not wait when the FIFO has no reader", async () => {
    await execa("mkfifo", [fifo]);
    const done = await fire("turn-ended", false, "{}");
    expect(done).toMatchObject({ code: 0, output: "" });
    expect(done.ms).toBeLessThan(2000);
  });

  it("writes a payload of any size to a private file and names it in a short line", async () => {
    await execa("mkfifo", [fifo]);
    const reader = await open(fifo, "r+");
    const payload = JSON.stringify({ prompt: "x".repeat(1 << 20) });
    expect(await fire("prompt-submitted", true, payload)).toMatchObject({ code: 0, output: "" });
    const { buffer, bytesRead } = await reader.read(Buffer.alloc(4096));
    const line = buffer.toString("utf8", 0, bytesRead);
    await reader.close();
    expect(line).toMatch(/^prompt-submitted payload\.\w+\n$/);
    const file = join(hookDir, payloadName(line) ?? "");
    expect(await readFile(file, "utf8")).toBe(payload);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it("still reports the event when the payload cannot be written", async () => {
    await execa("mkfifo", [fifo]);
    await chmod(hookDir, 0o500);
    await rm(hookDir, { recursive: true });
    const reader = await open(fifo, "r+");
    await fire("prompt-submitted", true, "{}");
    const { buffer, bytesRead } = await reader.read(Buffer.alloc(4096));
    await reader.close();
    expect(buffer.toString("utf8", 0, bytesRead)).toBe("prompt-submitted\n");
  });

  it("keeps the lines of concurrent hooks whole", async () => {
    await execa("mkfifo", [fifo]);
    const reader = await open(fifo, "r+");
    await Promise.all(Array.from({ length: 40 }, (_, i) => fire(i % 2 === 0 ? "activity" : "turn-ended", false, "{}")));
    const { buffer, bytesRead } = await reader.read(Buffer.alloc(65_536));
    await reader.close();
    const lines = buffer.toString("utf8", 0, bytesRead).trimEnd().split("\n");
    expect(lines.sort()).toEqual([...Array(20).fill("activity"), ...Array(20).fill("turn-ended")]);
  });
});
