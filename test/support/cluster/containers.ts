import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Client, createClient } from "@connectrpc/connect";
import type { TestContext } from "vitest";
import { SidecarService } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarTransport } from "../../../internal/rpc/client/transport.ts";
import { BUNDLES_VARIABLE } from "../programs.ts";
import { runMerged } from "../run-to-end.ts";
import { until } from "../sidecar/sidecar.ts";
import { requireComponent } from "./components.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const BUILD_MS = 600_000;
const BUILD_LOCK = "/var/lock/gt-image-build";
/**
 * Builds an image and notes the test run in a file. Without an archive, builds nothing if the file names this run
 * already. There is one file per image; a run that builds the image from other sources overwrites it.
 */
const BUILD_ONCE = `note=$1 run=$2 archive=$3; shift 3
if [ -z "$archive" ] && [ -n "$run" ] && [ "$(cat "$note" 2>/dev/null)" = "$run" ]; then exit 0; fi
rm -f "$note"; "$@" && printf %s "$run" >"$note"`;

export interface ContainerSetup {
  /** Options of `docker run`, before the image. */
  readonly options?: readonly string[];
  readonly args?: readonly string[];
}

/** A container that runs in the foreground, on the machine's own network. */
export interface RunningContainer extends AsyncDisposable {
  readonly client: Client<typeof SidecarService>;
  readonly port: number;
  readonly healthUrl: string;
  /** The output so far, both streams. */
  log(): string;
  /** Sends a signal to the container's first process. */
  signal(name: NodeJS.Signals): void;
  /** Kills its first process, and thereby the container. */
  kill(): Promise<void>;
  readonly exited: Promise<number>;
  /** The time from the start of the engine's program to the first answer of Peek, ms; call it first. */
  firstPeek(): Promise<number>;
}

/** Options that deny a container everything that a sidecar does not need; stricter than Kubernetes' "restricted". */
export const HARDENED: readonly string[] = [
  ...["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only"],
  ...["--user", "54321:0", "--pids-limit", "256", "--memory", "768m", "--memory-swap", "768m"],
  ...["/tmp", "/home/agent", "/workspace"].flatMap((path) => ["--tmpfs", `${path}:rw,exec,mode=1777,size=64m`]),
];

/** The engine's programs: from the folder of test programs, else docker or podman. */
export class Containers {
  readonly #program: string;
  /** True for a program that accepts only `build … TAG CONTEXT OUT` and `run`, and names its images `localhost/…`. */
  readonly #isTool: boolean;

  private constructor(program: string) {
    this.#program = program;
    this.#isTool = program.endsWith("/image");
  }

  static async here(context: TestContext): Promise<Containers> {
    return new Containers(await requireComponent(context, "containers"));
  }

  /**
   * Builds Dockerfile.sidecar; returns the image's name. `archive`: a file for the image. Without one, the image that
   * this test run has built is used again.
   */
  async build(agent: string, archive?: string): Promise<string> {
    return await this.#build(`gt-sidecar-test:${agent}`, "Dockerfile.sidecar", [`AGENT=${agent}`], archive);
  }

  /** Builds Dockerfile.controller likewise. */
  async buildController(archive: string): Promise<string> {
    return await this.#build("gt-controller-test:1", "Dockerfile.controller", [], archive);
  }

  /** Builds Dockerfile.relay likewise. */
  async buildRelay(archive?: string): Promise<string> {
    return await this.#build("gt-relay-test:1", "Dockerfile.relay", [], archive);
  }

  /** Builds an image of Debian's nats-server likewise. */
  async buildNats(archive: string): Promise<string> {
    return await this.#build("gt-nats-test:1", "test/support/relay/Dockerfile.nats", [], archive);
  }

  /** Builds an image of Debian's PostgreSQL likewise. */
  async buildPostgres(archive: string): Promise<string> {
    return await this.#build("gt-postgres-test:1", "test/support/threads/Dockerfile.postgres", [], archive);
  }

  async #build(name: string, file: string, buildArgs: readonly string[], archive: string | undefined): Promise<string> {
    const args = ["-f", join(root, file), ...buildArgs.flatMap((one) => ["--build-arg", one])];
    const limits = { cwd: root, timeout: BUILD_MS, maxBuffer: 64 * 1024 * 1024 };
    const run = promisify(execFile);
    if (this.#isTool) {
      const scratch = await mkdtemp(join(tmpdir(), "gt-image-"));
      const build = [this.#program, "build", ...args, name, root, archive ?? join(scratch, "image.tar")];
      const testRun = process.env[BUNDLES_VARIABLE] ?? "";
      const buildOnce = ["sh", "-c", BUILD_ONCE, "sh", `${BUILD_LOCK}-${name}`, testRun, archive ?? ""];
      // One at a time on a machine: two builds without a base image would both make it, and collide at apt's lock.
      await run("flock", [BUILD_LOCK, ...buildOnce, ...build], limits);
      await rm(scratch, { recursive: true });
      return `localhost/${name}`;
    }
    await run(this.#program, ["build", ...args, "-t", name, root], limits);
    if (archive !== undefined) await run(this.#program, ["save", "-o", archive, name], limits);
    return name;
  }

  /** Runs a program of the image to its end. */
  async output(image: string, options: readonly string[], ...args: readonly string[]) {
    const { code, output } = await runMerged(this.#program, ["run", "--rm", ...options, image, ...args]);
    return { code: Number(code), text: output };
  }

  /** Runs the image's sidecar; its ports are free ones of this machine's loopback. */
  run(image: string, { options = [], args = [] }: ContainerSetup = {}): RunningContainer {
    // Below the ports that connections are given automatically: one of those may be taken before the sidecar listens.
    const port = 10_000 + Math.floor(Math.random() * 5000) * 2;
    const startedAt = performance.now();
    const listen = [`GT_SIDECAR_LISTEN=127.0.0.1:${port}`, `GT_SIDECAR_HEALTH_LISTEN=127.0.0.1:${port + 1}`];
    const callers = `GT_ALLOW_LOCAL_USERS=${process.getuid?.() ?? "any"}`; // the container's user is another one
    const env = [...listen, callers].flatMap((one) => ["--env", one]);
    const name = `gt-test-${randomUUID()}`;
    const pidFile = join(tmpdir(), `${name}.pid`);
    const named = ["--rm", "--name", name, "--network", "host", ...(this.#isTool ? ["--pidfile", pidFile] : [])];
    const child = spawn(this.#program, ["run", ...named, ...env, ...options, image, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let log = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        log += chunk;
      });
    }
    const exited = once(child, "close").then(([code, signal]) => (signal === null ? Number(code) : -1));
    const connection = sidecarTransport({ baseUrl: `http://127.0.0.1:${port}` });
    const client = createClient(SidecarService, connection.transport);
    const peeked = async () => {
      if (child.exitCode !== null) throw new Error(`it ended:\n${log}`);
      return await client.peek({ lines: 1 }, { timeoutMs: 5000 }).catch(() => undefined);
    };
    return {
      client,
      port,
      healthUrl: `http://127.0.0.1:${port + 1}`,
      exited,
      log: () => log,
      signal: (signal) => child.kill(signal),
      kill: async () => {
        if (this.#isTool) process.kill(Number(await readFile(pidFile, "utf8")), "SIGKILL");
        else await promisify(execFile)(this.#program, ["kill", name]);
        await exited;
      },
      firstPeek: async () => {
        await until("the first peek", 60_000, peeked, () => log);
        return performance.now() - startedAt;
      },
      [Symbol.asyncDispose]: async () => {
        connection[Symbol.dispose]();
        if (child.exitCode === null) child.kill("SIGTERM");
        await exited;
        await rm(pidFile, { force: true });
      },
    };
  }
}

/** The terminal's text, once it matches. */
export async function untilShown(container: RunningContainer, pattern: RegExp, ms = 60_000): Promise<string> {
  let text = "";
  const ask = async () => {
    text = (await container.client.peek({ lines: 200 }, { timeoutMs: 5000 }).catch(() => undefined))?.output ?? text;
    return pattern.test(text) || undefined;
  };
  await until(`the terminal to show ${pattern}`, ms, ask, () => `${text}\n${container.log()}`);
  return text;
}
