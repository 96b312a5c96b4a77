import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "vitest";
import { ensureNatsServer } from "../../../scripts/programs/ensure-nats-server.ts";
import { requireComponent } from "../cluster/components.ts";
import { until } from "../sidecar/sidecar.ts";

/** A text of its log. */
const RELOADED = "Reloaded server configuration";

/** A nats-server with JetStream, in its own folder and on its own port. */
export class NatsServer implements AsyncDisposable {
  readonly url: string;
  readonly #program: string;
  readonly #folder: string;
  readonly #port: number;
  #child: ChildProcess;

  private constructor(program: string, folder: string, port: number, child: ChildProcess) {
    this.#program = program;
    this.#folder = folder;
    this.#port = port;
    this.#child = child;
    this.url = `nats://127.0.0.1:${port}`;
  }

  /** @param config additional lines of its configuration file */
  static async start(program: string, config = ""): Promise<NatsServer> {
    const folder = await mkdtemp(join(tmpdir(), "gt-nats-"));
    await writeFile(join(folder, "nats.conf"), withStore(folder, config));
    const child = run(program, folder, -1);
    try {
      const port = await until("nats-server to listen", 60_000, () => portIn(folder));
      return new NatsServer(program, folder, port, child);
    } catch (err) {
      child.kill("SIGKILL");
      throw err;
    }
  }

  /** Ends it as a failing machine would; its stored data stays. */
  async kill(): Promise<void> {
    await ended(this.#child, "SIGKILL");
  }

  /** Resolves when the server uses its configuration file with these lines in it. */
  async configure(config: string): Promise<void> {
    const reloads = async () => (await readFile(join(this.#folder, "nats.log"), "utf8")).split(RELOADED).length;
    const before = await reloads();
    await writeFile(join(this.#folder, "nats.conf"), withStore(this.#folder, config));
    this.#child.kill("SIGHUP");
    await until("nats-server to read its file", 60_000, async () => ((await reloads()) > before ? true : undefined));
  }

  /** SIGSTOP, SIGCONT. */
  signal(name: "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(name);
  }

  /** Restarts it on the same port, with its stored data; `empty`: without the data. */
  async restart({ empty = false } = {}): Promise<void> {
    if (empty) await rm(join(this.#folder, "jetstream"), { recursive: true, force: true });
    this.#child = run(this.#program, this.#folder, this.#port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await ended(this.#child, "SIGKILL");
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Debian's version, the oldest that is supported. */
export function oldestNats(): Promise<string> {
  return ensureNatsServer({ log: () => {} });
}

/** The newest version. If it is not available, the test is skipped; in CI it fails. */
export function newestNats(context: TestContext): Promise<string> {
  return requireComponent(context, "nats-server");
}

/** Enables JetStream in the file: an old server that reloads its file stops a JetStream that flags enabled. */
function withStore(folder: string, config: string): string {
  return `jetstream { store_dir: ${JSON.stringify(folder)} }\n${config}`;
}

function run(program: string, folder: string, port: number): ChildProcess {
  const args = ["-a", "127.0.0.1", "-p", String(port), "--ports_file_dir", folder];
  args.push("-c", join(folder, "nats.conf"), "-l", join(folder, "nats.log"));
  return spawn(program, args, { stdio: "ignore" });
}

async function portIn(folder: string): Promise<number | undefined> {
  const name = (await readdir(folder)).find((file) => file.endsWith(".ports"));
  if (name === undefined) return undefined;
  const text = await readFile(join(folder, name), "utf8");
  const [url] = text === "" ? [] : ((JSON.parse(text) as { nats?: string[] }).nats ?? []);
  return url === undefined ? undefined : Number(new URL(url).port);
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}
