import { spawnSync } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "vitest";

export interface TestUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

export function canMakeUsers(): boolean {
  return process.getuid?.() === 0 && spawnSync("useradd", ["--help"]).status === 0;
}

/** Skips a test where no users can be made, with a line that says why. With `CI=true` that is a failure. */
export function requireUsers(context: TestContext): void {
  if (canMakeUsers()) return;
  const missing = "no users can be made here; root with useradd (package passwd) can";
  if (process.env["CI"] === "true") throw new Error(missing);
  context.skip(missing);
}

/** Users of this machine, each with a home that is closed to others, in a folder that is open to all. */
export class TestUsers implements AsyncDisposable {
  /** Readable by all. */
  readonly dir: string;
  readonly all: readonly TestUser[];

  private constructor(dir: string, all: readonly TestUser[]) {
    this.dir = dir;
    this.all = all;
  }

  static async make(names: readonly string[]): Promise<TestUsers> {
    const dir = await mkdtemp("/tmp/gt-users-"); // the folder of this run may be entered by its own user only
    await chmod(dir, 0o755);
    const all: TestUser[] = [];
    for (const each of names) {
      const name = `gt${each}${process.pid}`;
      const home = join(dir, each);
      run("useradd", "--no-create-home", "--home-dir", home, "--shell", "/bin/sh", name);
      const [, , uid = "", gid = ""] = run("getent", "passwd", name).split(":");
      const user = { name, uid: Number(uid), gid: Number(gid), home };
      await mkdir(home, { mode: 0o700 });
      await chown(home, user.uid, user.gid);
      all.push(user);
    }
    return new TestUsers(dir, all);
  }

  /** The running processes of a user, with their environments. */
  static async processesOf({ uid }: TestUser): Promise<readonly { readonly pid: number; readonly environ: string }[]> {
    const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
    const found = await Promise.all(
      pids.map(async (pid) => {
        const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
        const isTheirs = new RegExp(`^Uid:\\s+${uid}\\s`, "m").test(status) && !/^State:\s+[ZX]/m.test(status);
        if (!isTheirs) return [];
        return [{ pid: Number(pid), environ: await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "") }];
      }),
    );
    return found.flat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { name, uid } of this.all) {
      spawnSync("pkill", ["-KILL", "-U", String(uid)]);
      spawnSync("userdel", ["--force", name]);
    }
    await rm(this.dir, { recursive: true, force: true });
  }
}

function run(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${stderr}`);
  return stdout;
}
