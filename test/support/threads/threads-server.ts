import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { systemClock } from "../../../internal/base/clock.ts";
import { mintLocal } from "../../../internal/threads/client/local-issuer.ts";
import { ThreadsClient } from "../../../internal/threads/client/threads-client.ts";
import { eventually } from "../eventually.ts";
import { programFile } from "../programs.ts";

/** The disk may be slow to create a new database. */
const START_MS = 420_000;

/** Creates a thread with these agents; returns its id. */
export async function startThread(
  client: ThreadsClient,
  title: string,
  agents: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const participants = agents.map((agent_id) => ({ agent_id }));
  const { thread } = await client.call("create_thread", { title, participants }, signal);
  return String((thread as JsonObject)["thread_id"]);
}

/** A `threads` with a private folder and environment; `await using` ends it and removes everything. */
export class ThreadsServer implements AsyncDisposable {
  readonly dir: string;
  /** The environment in which `gt` and sidecars find only this server. */
  readonly env: Readonly<Record<string, string>>;
  readonly #flags: readonly string[];
  readonly #isGuest: boolean;
  #child: ChildProcess | undefined;
  #said = "";
  #url = "";

  private constructor(dir: string, flags: readonly string[], isGuest: boolean, env = {}) {
    this.dir = dir;
    this.#flags = flags;
    this.#isGuest = isGuest;
    const run = join(dir, "run");
    this.env = {
      ...{ PATH: process.env["PATH"] ?? "", HOME: dir, USER: "tester", XDG_RUNTIME_DIR: run },
      ...{ GT_THREADS_STATE_DIR: join(dir, "state"), LANG: "C.UTF-8", NO_COLOR: "1" },
      ...env,
    };
  }

  /** Serves with these flags, e.g. `--postgres system`. */
  static async start(...flags: string[]): Promise<ThreadsServer> {
    // As root we run PostgreSQL as another user, which cannot reach the private folder of the test run.
    const dir = await mkdtemp("/tmp/gt-threads-test-");
    await chmod(dir, 0o711);
    await mkdir(join(dir, "run"), { mode: 0o700 });
    const server = new ThreadsServer(dir, flags, false);
    try {
      await server.begin();
      return server;
    } catch (err) {
      await server[Symbol.asyncDispose]();
      throw err;
    }
  }

  /**
   * Starts a second one with the folder, keys and flags of this one; the flags must name a database that both can use.
   */
  async beside(env: Readonly<Record<string, string>> = {}, flags = this.#flags): Promise<ThreadsServer> {
    const server = new ThreadsServer(this.dir, flags, true, env);
    await server.begin();
    return server;
  }

  get stateDir(): string {
    return join(this.dir, "state");
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Its last address while it is down. */
  get url(): string {
    return this.#url;
  }

  /** The address of its probes and metrics. */
  get healthUrl(): string {
    return urlOf(this.#listen("health served"));
  }

  #listen(message: string): string {
    const line = this.#said.split("\n").find((one) => one.includes(`"msg":"${message}"`));
    return (JSON.parse(line ?? "{}") as { listen?: string }).listen ?? "";
  }

  /** Its log so far. */
  get log(): string {
    return this.#said;
  }

  async begin(): Promise<void> {
    this.#said = "";
    const ports = ["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"];
    const child = spawn(process.execPath, [programFile("threads"), "serve", ...ports, ...this.#flags], {
      env: { ...this.env },
      cwd: this.dir,
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child = child;
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#said += text;
    });
    await eventually(
      "threads serves",
      async () => {
        if (child.exitCode !== null) throw new Error(`threads ended with ${child.exitCode}: ${this.#said}`);
        return this.#said.includes('"msg":"serving"') && this.#said.includes('"msg":"health served"');
      },
      START_MS,
    );
    const listen = this.#listen("serving");
    this.#url = this.#flags.includes("--tls-dir") ? `https://${listen}` : urlOf(listen);
  }

  /** Ends it gracefully, or with SIGKILL at once and without ending its children. */
  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, "close");
    child.kill(signal);
    await closed;
  }

  /** A token of an agent of the workspace `default`. */
  token(agent: string, role = "worker", more: { readonly session?: string; readonly workspace?: string } = {}): string {
    const { session = `s-${agent.replaceAll("/", "-")}`, workspace = "default" } = more;
    const kind = role === "operator" ? ("person" as const) : ("agent" as const);
    const ttlMs = kind === "person" ? 300_000 : 3_600_000;
    return mintLocal(this.stateDir, { kind, workspace, agent, role, session, ttlMs }, systemClock.now());
  }

  /** A client for calls as an agent, or as a person with the role `operator`. Dispose of it. */
  client(agent: string, role = "worker"): ThreadsClient {
    return new ThreadsClient({ url: this.url, token: () => this.token(agent, role) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    if (!this.#isGuest) await rm(this.dir, { recursive: true, force: true });
  }
}

function urlOf(listen: string): string {
  return listen.includes("://") ? listen : `http://${listen}`;
}
