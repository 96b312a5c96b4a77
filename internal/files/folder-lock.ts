import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import { holdName } from "./held-name.ts";

const LOOK_EVERY_MS = 25;

/**
 * Locks folders for this process alone; the system releases them when the process ends, however it ends. On Linux, the
 * lock excludes the processes of the same network namespace; on other systems nothing is locked.
 * @throws DomainError `unavailable` when another process still has one of them after `waitMs`
 */
export async function lockFolders(
  clock: Clock,
  folders: readonly string[],
  { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<AsyncDisposable> {
  const end = clock.monotonicMs() + waitMs;
  const held = new AsyncDisposableStack();
  const names = new Map(folders.map((folder) => [lockName(folder), folder]));
  try {
    // Always lock in the same order: two processes that want the same folders must not wait for each other.
    for (const [name, folder] of [...names].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      held.use(await lock(name, folder));
    }
    return held;
  } catch (err) {
    await held[Symbol.asyncDispose]();
    throw err;
  }

  async function lock(name: string, folder: string): Promise<AsyncDisposable> {
    for (;;) {
      const taken = await holdName(name);
      if (taken !== undefined) return taken;
      if (clock.monotonicMs() >= end) {
        throw new DomainError("unavailable", `another process has been writing to ${folder} for ${waitMs / 1000} s`, {
          fields: { hint: "try again once it has ended" },
        });
      }
      await clock.sleep(LOOK_EVERY_MS, signal);
    }
  }
}

/** A name in the kernel's table of sockets, where it lasts as long as its process. */
function lockName(folder: string): string {
  const { dev, ino } = statSync(folder, { bigint: true });
  return `\0gastown-folder-${createHash("sha256").update(`${dev} ${ino}`).digest("hex")}`;
}
