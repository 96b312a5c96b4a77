import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programFile } from "../programs.ts";
import { type Ran, runToEnd } from "../run-to-end.ts";

const LIMIT_MS = 180_000;

export const PASSPHRASE = "correct horse battery staple";

/** A folder in which `bridge-ca` and other programs run; the passphrase comes from the environment. */
export class CaSandbox implements AsyncDisposable {
  readonly dir: string;
  readonly env: Readonly<Record<string, string>>;

  private constructor(dir: string) {
    this.dir = dir;
    const path = `${join(dir, "bin")}:${process.env["PATH"] ?? ""}`;
    this.env = { PATH: path, HOME: dir, LANG: "C.UTF-8", BRIDGE_CA_PASSPHRASE: PASSPHRASE };
  }

  static async create(): Promise<CaSandbox> {
    const sandbox = new CaSandbox(await mkdtemp(join(tmpdir(), "bridge-ca-test-")));
    await mkdir(join(sandbox.dir, "bin"));
    await sandbox.install("bridge-ca");
    return sandbox;
  }

  /** Puts programs of ours into the sandbox's PATH. */
  async install(...names: readonly Parameters<typeof programFile>[0][]): Promise<void> {
    for (const name of names) {
      const program = this.path("bin", name);
      await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${programFile(name)}" "$@"\n`);
      await chmod(program, 0o755);
    }
  }

  path(...parts: readonly string[]): string {
    return join(this.dir, ...parts);
  }

  /** Runs a shell script; a command that fails ends it. `folder` is below the sandbox's. */
  async sh(
    script: string,
    options: { readonly folder?: string; readonly env?: Record<string, string> } = {},
  ): Promise<Ran> {
    const { folder = ".", env } = options;
    return await runToEnd("sh", ["-ec", script], {
      cwd: this.path(folder),
      env: { ...this.env, ...env },
      timeoutMs: LIMIT_MS,
    });
  }

  /** Like `sh`, for a script that must succeed; returns its output. */
  async ok(script: string, folder = "."): Promise<string> {
    const { stdout, stderr, code } = await this.sh(script, { folder });
    if (code !== 0) throw new Error(`exit code ${code} of: ${script}\n${stdout}${stderr}`);
    return stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.dir, { recursive: true, force: true });
  }
}

/**
 * The commands of a help text or a page: indented lines that begin with `bridge-ca` or `cd`, joined with their
 * continuation lines after a backslash.
 */
export function commandsIn(text: string): readonly string[] {
  const joined = text.replaceAll(/\\\n\s*/g, "");
  return joined.split("\n").flatMap((line) => /^ {2,8}((?:bridge-ca|cd) .*)$/.exec(line)?.[1] ?? []);
}
