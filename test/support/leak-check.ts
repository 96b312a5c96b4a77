// Loaded by vitest before each test file: fails the file if it leaves a process or a listening socket behind, and ends
// such processes so that they do not disturb the next file.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll } from "vitest";
import { FILE_MARK, heldSince, type Leak, presentNow } from "./leaks.ts";

/** A killed process needs a moment to disappear; only a leak takes this long. */
const GRACE_MS = 2_000;

const id = randomUUID();
const marker = `${FILE_MARK}=${id}`;
process.env[FILE_MARK] = id;
const before = presentNow();

// Hooks of a file run in reverse order of their registration, so this one runs after the file's own.
afterAll(async () => {
  let leaks = leaksNow();
  for (const deadline = performance.now() + GRACE_MS; leaks.length > 0 && performance.now() < deadline; ) {
    await sleep(20);
    leaks = leaksNow();
  }
  leaks = leaks.filter((leak) => leak.kind !== "process" || leak.isOurs);
  if (leaks.length === 0) return;
  for (const leak of leaks) if (leak.kind === "process") endProcess(leak.pid);
  const list = leaks.map((leak) => `  ${leak.kind}: ${leak.what}`).join("\n");
  throw new Error(`this test file leaves behind:\n${list}`);
});

function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

/** Looks twice: a process that forks and ends during a look may hide its child from that look. */
function leaksNow(): readonly Leak[] {
  const first = heldSince(before, marker);
  return first.length > 0 ? first : heldSince(before, marker);
}
