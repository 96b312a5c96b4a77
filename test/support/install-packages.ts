import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const LOCK_STALE_MS = 15 * 60_000;

/**
 * Installs the packages of a folder with a lock file of its own, if they are missing or outdated. If several processes
 * call this at the same time, one installs and the others wait.
 */
export async function installPackages(folder: string): Promise<void> {
  const wanted = createHash("sha256")
    .update(await readFile(join(folder, "package-lock.json")))
    .digest("hex");
  const stamp = join(folder, "node_modules", ".stamp");
  const lock = join(folder, ".install-lock");
  while ((await readFile(stamp, "utf8").catch(() => "")) !== wanted) {
    if (!(await takeLock(lock))) {
      await sleep(500);
      continue;
    }
    try {
      await npmCi(folder);
      await writeFile(stamp, wanted);
    } finally {
      await rm(lock, { recursive: true, force: true });
    }
  }
}

/**
 * Uses a folder as a lock: only the first `mkdir` succeeds. A lock that a killed process left behind is taken over
 * after a while.
 */
async function takeLock(lock: string): Promise<boolean> {
  try {
    await mkdir(lock);
    await writeFile(join(lock, "owner"), randomUUID());
    return true;
  } catch {
    const info = await stat(lock).catch(() => undefined);
    if (info !== undefined && Date.now() - info.mtimeMs > LOCK_STALE_MS)
      await rm(lock, { recursive: true, force: true });
    return false;
  }
}

function npmCi(folder: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // Install scripts of the agent programs only move the platform's binary; the tests use it where it is.
    const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    const child = spawn("npm", args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
    child.on("error", reject);
    child.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`npm ci in ${folder} ended with ${code}`))));
  });
}
