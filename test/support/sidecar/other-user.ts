import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { chmod, chown, copyFile, cp, mkdtemp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TestContext } from "vitest";
import { programFile } from "../programs.ts";

/** Far from the uids that a system assigns. */
export const ANN = 200_001;
export const BOB = 200_002;

/** A user of this machine other than root, with its own home. `await using` removes the home. */
export interface OtherUser extends AsyncDisposable {
  readonly uid: number;
  /** Mode 0700, owned by the user. */
  readonly home: string;
  /** The user's whole environment: only PATH, HOME, LANG and SHELL. */
  readonly env: Readonly<Record<string, string>>;
  /** Starts a program as this user. */
  spawn(argv: readonly string[], options?: SpawnOptions): ChildProcess;
  /** Runs a program to its end, with the variables of `more` added to `env`. */
  run(argv: readonly string[], more?: Readonly<Record<string, string>>): Promise<Ended>;
  /** The words that run one of our programs as this user. */
  program(name: Parameters<typeof programFile>[0], ...args: string[]): readonly string[];
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Skips a test that cannot become another user, with a line that says why. With `CI=true` that is a failure. */
export function needsOtherUsers(context: Pick<TestContext, "skip">): void {
  if (process.getuid?.() === 0) return;
  const missing = "cannot be other users here; root can";
  if (process.env["CI"] === "true") throw new Error(missing);
  context.skip(missing);
}

/**
 * `given`: the home of a user that the system knows; default: a new home in /tmp itself, because the tests' folders are
 * closed.
 */
export async function otherUser(uid: number, given?: string): Promise<OtherUser> {
  const home = given ?? (await mkdtemp("/tmp/gt-user-"));
  await chown(home, uid, uid);
  const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", HOME: home, LANG: "C.UTF-8", SHELL: "/bin/sh" };
  const start = (argv: readonly string[], options: SpawnOptions = {}) =>
    spawn(argv[0] ?? "", argv.slice(1), { cwd: home, env, uid, gid: uid, ...options });
  const programs = await readableTo(start, home);
  return {
    uid,
    home,
    env,
    spawn: start,
    run: (argv, more = {}) => ended(start(argv, { env: { ...env, ...more }, stdio: ["ignore", "pipe", "pipe"] })),
    program: (name, ...args) => [programs.node, programs.of(name), ...args],
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  };
}

type Start = (argv: readonly string[], options?: SpawnOptions) => ChildProcess;

/**
 * The commands of our programs for the user. If the checkout is in a closed folder, copies the programs into the user's
 * home.
 */
async function readableTo(start: Start, home: string) {
  const node = process.execPath;
  const asked = await ended(start([node, programFile("gt"), "--version"], { stdio: ["ignore", "pipe", "pipe"] })).catch(
    () => undefined,
  );
  if (asked?.code === 0) return { node, of: programFile };
  const folder = join(home, "programs");
  await cp(dirname(programFile("gt")), folder, { recursive: true });
  await chmod(folder, 0o755);
  await copyFile(node, join(folder, "node"));
  return { node: join(folder, "node"), of: (name: string) => join(folder, `${name}.mjs`) };
}

async function ended(child: ChildProcess): Promise<Ended> {
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  return { code, stdout, stderr };
}
