import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gt } from "../bridge/gt-transcript.ts";
import { eventually } from "../eventually.ts";
import { programFile } from "../programs.ts";
import { KillOnce } from "./kill-once.ts";

const THERE_MS = 90_000;
const MAX_SAID = 100_000;

interface Place {
  /** The folder of its state and its agent's log. */
  readonly dir: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A sidecar with a demo agent, whose log is the truth about typed texts; `await using` ends it. */
export class DemoSidecar implements AsyncDisposable {
  readonly address: string;
  readonly stateDir: string;
  readonly #log: string;
  readonly #command: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #said = "";
  readonly #kills = new KillOnce();

  private constructor(address: string, { dir, env }: Place, turnMs: number, flags: readonly string[]) {
    const name = address.replaceAll("/", "-");
    this.address = address;
    this.stateDir = join(dir, `sidecar-${name}`);
    this.#env = env;
    this.#log = join(dir, `${name}.jsonl`);
    const agent = ["--turn-ms", String(turnMs), "--steps", "1", "--log", this.#log, ...flags];
    this.#command = [
      programFile("gt-sidecar"),
      ...["--agent", "demo", "--address", address, "--project", "default", "--session-id", `s-${name}`],
      ...["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0", "--grace", "1s"],
      ...["--state-dir", this.stateDir, "--", process.execPath, programFile("demo-agent"), ...agent],
    ];
  }

  /** Resolves once `gt` finds it; a turn of the agent lasts `turnMs`. */
  static async start(address: string, place: Place, turnMs = 300, ...flags: string[]): Promise<DemoSidecar> {
    const sidecar = new DemoSidecar(address, place, turnMs, flags);
    try {
      await sidecar.begin();
    } catch (err) {
      await sidecar[Symbol.asyncDispose]();
      throw err;
    }
    return sidecar;
  }

  async begin(): Promise<void> {
    const child = spawn(process.execPath, this.#command, {
      env: { ...this.#env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#said = (this.#said + text).slice(-MAX_SAID);
    });
    this.#child = child;
    const isThere = async () => (await gt(["status", this.address], this.#env)).code === 0;
    await eventually("the sidecar is there", isThere, THERE_MS);
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Kills its serving half, which restarts by itself. False: it has not come back since the last kill. */
  killServing(): boolean {
    const line = this.#said.split("\n").findLast((text) => text.includes('"msg":"serving"') && text.endsWith("}"));
    const { pid = 0 } = JSON.parse(line ?? "{}") as { pid?: number };
    return this.#kills.kill(pid);
  }

  /** The texts that its agent received, in order. */
  get taken(): readonly string[] {
    if (!existsSync(this.#log)) return [];
    const lines = readFileSync(this.#log, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => (JSON.parse(line) as { text: string }).text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, "close");
    child.kill("SIGTERM");
    await closed;
  }
}
