import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, chownSync, cpSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../../base/errors.ts";
import { makeFolders } from "../../files/make-folders.ts";
import { initdbReason } from "./initdb-reason.ts";
import type { PostgresPrograms } from "./programs.ts";
import type { SystemUser } from "./system-user.ts";

/** initdb waits for the disk, which takes minutes while other programs write to it. */
const INIT_MS = 600_000;
const MAX_TEXT = 4000;
/** Characters that initdb does not quote in its own path, when it starts `postgres` through a shell. */
const UNQUOTED = /["$`\\]/;

/**
 * Creates the data folder of a new PostgreSQL atomically: an interrupted attempt is started over.
 * @throws DomainError `unavailable` with the reason that initdb gives
 */
export async function initialise(
  programs: PostgresPrograms,
  user: SystemUser,
  data: string,
  signal: AbortSignal,
): Promise<void> {
  const part = `${data}.part`;
  rmSync(part, { recursive: true, force: true });
  makeFolders(part);
  if (process.getuid?.() === 0) chownSync(part, user.uid, user.gid);
  using usable = usableByShell(programs);
  const { bin } = usable;
  // The socket's folder is private, so every client that reaches the socket is trusted.
  const flags = ["-D", part, "-U", "threads", "--auth=trust", "--no-locale", "-E", "UTF8", "--no-instructions"];
  // If this process is out of descriptors, the child has no streams.
  const child: ChildProcess = spawn(join(bin, "initdb"), flags, {
    ...(process.getuid?.() === 0 && { uid: user.uid, gid: user.gid }),
    cwd: part,
    env: { PATH: `${bin}:/usr/bin:/bin`, LC_ALL: "C", TZ: "UTC" },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: INIT_MS,
    killSignal: "SIGKILL",
    signal,
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("error", () => {}); // the child's exit reports the failure
    stream?.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-MAX_TEXT);
    });
  }
  const how = await new Promise<string | undefined>((resolve) => {
    child.on("error", (err) => resolve(err.message));
    child.once("close", (code, name) => resolve(code === 0 ? undefined : (name ?? `exit code ${code}`)));
  });
  signal.throwIfAborted();
  if (how !== undefined) {
    const message = `initdb failed (${how}): ${initdbReason(said)}`;
    throw new DomainError("unavailable", message, { fields: { problem: "no-postgres" } });
  }
  renameSync(part, data);
}

/**
 * The folder of the programs or, if a shell would misread its path, of a copy in /tmp, which is removed again. TMPDIR
 * may be closed to the database's user.
 */
function usableByShell({ bin, home }: PostgresPrograms): Disposable & { readonly bin: string } {
  if (home === undefined || !UNQUOTED.test(bin)) return { bin, [Symbol.dispose]: () => {} };
  const folder = mkdtempSync("/tmp/gt-threads-initdb-");
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    chmodSync(folder, 0o711);
    const copy = join(folder, "programs");
    cpSync(home, copy, { recursive: true, verbatimSymlinks: true });
    chmodSync(copy, 0o755);
    return { bin: join(copy, "bin"), [Symbol.dispose]: remove };
  } catch (err) {
    remove();
    throw err;
  }
}
