import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { TestContext } from "vitest";
import { until } from "../sidecar/sidecar.ts";

const PACKAGE = "synadia-ai-agents==0.8.1";
const CACHE = join(tmpdir(), `gastown-${PACKAGE.replace("==", "-")}`);
const PROGRAM = fileURLToPath(new URL("../../fakes/agents-client.py", import.meta.url));
const INSTALL_MS = 300_000;

/** A line that the program has printed. */
export type Printed = Readonly<Record<string, unknown>>;

/** Runs the agent protocol's own Python client. */
export class VendorClient {
  readonly #folder: string;
  readonly #url: string;

  private constructor(folder: string, url: string) {
    this.#folder = folder;
    this.#url = url;
  }

  /** Like `requireComponent`. */
  static async require(context: TestContext, natsUrl: string): Promise<VendorClient> {
    try {
      installing ??= installed();
      return new VendorClient(await installing, natsUrl);
    } catch (err) {
      const why = String((err as { stderr?: string }).stderr || err).trim();
      const missing = `${PACKAGE} is missing; it needs python3 from 3.11 on, and pip: ${why.split("\n").at(-1)}`;
      if (process.env["CI"] === "true") throw new Error(missing);
      return context.skip(missing);
    }
  }

  /** Starts the program; see its source text. */
  run(...args: readonly string[]): VendorRun {
    return new VendorRun(this.#folder, [this.#url, ...args]);
  }

  /** All that the program prints until its end. */
  async all(...args: readonly string[]): Promise<readonly Printed[]> {
    await using run = this.run(...args);
    return await run.ended();
  }
}

class VendorRun implements AsyncDisposable {
  readonly printed: Printed[] = [];
  readonly #child;
  readonly #exited: Promise<unknown>;

  constructor(folder: string, args: readonly string[]) {
    const env = { ...process.env, PYTHONPATH: folder };
    this.#child = spawn("python3", [PROGRAM, ...args], { stdio: ["ignore", "pipe", "inherit"], env });
    this.#exited = once(this.#child, "close");
    const lines = createInterface({ input: this.#child.stdout });
    lines.on("line", (line) => this.printed.push(JSON.parse(line) as Printed));
  }

  /** The first line with this member, once it is printed. */
  line(member: string): Promise<Printed> {
    return until(`the client to print ${member}`, 60_000, () => this.printed.find((line) => member in line));
  }

  /** All that was printed, once the program has ended, without the acknowledgements that a slow turn repeats. */
  async ended(): Promise<readonly Printed[]> {
    await this.#exited;
    return this.printed.filter((line, index) => index === 0 || line["status"] !== "ack");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }
}

/** Shared by the tests of a file, which run side by side. */
let installing: Promise<string> | undefined;

/** The folder of the package; installs it there if it is missing. */
async function installed(): Promise<string> {
  const isThere = await access(CACHE).then(
    () => true,
    () => false,
  );
  if (isThere) return CACHE;
  const folder = await mkdtemp(`${CACHE}-`);
  try {
    const args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", folder, PACKAGE];
    await promisify(execFile)("python3", args, { timeout: INSTALL_MS });
    // Another process may have been faster: then its copy is used.
    await rename(folder, CACHE).catch(() => {});
    return CACHE;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
