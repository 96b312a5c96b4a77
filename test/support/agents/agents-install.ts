import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** The agent programs of `test/agents/package.json`, by the name that recorded screens use. */
export type AgentProgram = "claude-2.1.330" | "claude-2.1.197" | "codex-0.169.0" | "opencode-1.18.33";

const folder = fileURLToPath(new URL("../../agents/", import.meta.url));
const LOCK_STALE_MS = 15 * 60_000;

/**
 * The paths of the platform's own binary of each program below `test/agents/node_modules`; none needs Node or an
 * install script.
 */
function programPaths(): Readonly<Record<AgentProgram, readonly string[]>> {
  const cpu = process.arch;
  const os = process.platform;
  const target = `${cpu === "arm64" ? "aarch64" : "x86_64"}-${os === "darwin" ? "apple-darwin" : "unknown-linux-musl"}`;
  const claude = `@anthropic-ai/claude-code-${os}-${cpu}/claude`;
  return {
    "claude-2.1.330": [claude],
    "claude-2.1.197": [`claude-code-2-1-197/node_modules/${claude}`],
    "codex-0.169.0": [`@openai/codex-${os}-${cpu}/vendor/${target}/bin/codex`],
    "opencode-1.18.33": [`opencode-${os}-${cpu}/bin/opencode`],
  };
}

/**
 * The path of an agent program for tests; installs all of them first if they are missing (`npm ci`, about 1.4 GB on
 * disk and half a minute). Of several concurrent test processes one installs, the others wait.
 */
export async function agentProgram(name: AgentProgram): Promise<string> {
  await installAgents();
  const found = programPaths()
    [name].map((path) => join(folder, "node_modules", path))
    .find((path) => existsSync(path));
  if (found === undefined)
    throw new Error(`no ${name} program for ${process.platform}-${process.arch} in test/agents/node_modules`);
  return found;
}

async function installAgents(): Promise<void> {
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
      await npmCi();
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

function npmCi(): Promise<void> {
  return new Promise((resolve, reject) => {
    // Their install scripts only move the platform's binary to another place; this uses the binary where it is.
    const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    const child = spawn("npm", args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
    child.on("error", reject);
    child.on("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`npm ci in test/agents ended with ${code}`)),
    );
  });
}
