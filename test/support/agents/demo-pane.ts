import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { systemClock } from "../../../internal/base/clock.ts";
import { programFile } from "../programs.ts";

const run = promisify(execFile);
const program = programFile("demo-agent");
const CONFIG = `set -g default-terminal tmux-256color
set -g history-limit 50000
set -g remain-on-exit on
set -g remain-on-exit-format ""
set -sg escape-time 0
set -g status off
`;

export interface DemoPaneOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cols?: number;
  readonly rows?: number;
}

/** One message that the agent wrote into its log. */
export interface Taken {
  readonly text: string;
  readonly at: string;
  readonly via: "direct" | "queue";
}

/** The demo agent as the command of a pane of a private tmux server, driven by tmux commands only. */
export class DemoPane implements AsyncDisposable {
  readonly dir: string;

  private constructor(dir: string) {
    this.dir = dir;
  }

  /** Resolves while the agent is still starting. */
  static async start(options: DemoPaneOptions = {}): Promise<DemoPane> {
    const { args = [], env = {}, cols = 80, rows = 24 } = options;
    const pane = new DemoPane(await mkdtemp(join(tmpdir(), "gt-demo-")));
    await writeFile(join(pane.dir, "conf"), CONFIG);
    const logs = ["--log", pane.path("log"), "--tool-log", pane.path("tool")];
    const command = [process.execPath, "--disable-warning=ExperimentalWarning", program, ...logs, ...args];
    const environment = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    const size = ["-x", String(cols), "-y", String(rows)];
    await pane.tmux("-f", pane.path("conf"), "new-session", "-d", "-s", "demo", ...size, ...environment, ...command);
    return pane;
  }

  /** Resolves when the composer is on the screen. */
  static async ready(options: DemoPaneOptions = {}): Promise<DemoPane> {
    const pane = await DemoPane.start(options);
    await pane.sees("ready · ");
    return pane;
  }

  path(name: string): string {
    return join(this.dir, name);
  }

  async tmux(...args: readonly string[]): Promise<string> {
    const { stdout } = await run("tmux", ["-u", "-S", this.path("sock"), ...args], { maxBuffer: 64 << 20 });
    return stdout;
  }

  keys(...names: readonly string[]): Promise<string> {
    return this.tmux("send-keys", "-t", "demo", ...names);
  }

  type(text: string): Promise<string> {
    return this.tmux("send-keys", "-t", "demo", "-l", text);
  }

  /** Pastes, bracketed if the agent has requested that. */
  async paste(text: string): Promise<void> {
    await writeFile(this.path("buffer"), text);
    await this.tmux(
      "load-buffer",
      "-b",
      "x",
      this.path("buffer"),
      ";",
      "paste-buffer",
      "-d",
      "-p",
      "-b",
      "x",
      "-t",
      "demo",
    );
  }

  /** The visible rows without the blank ones at the end. */
  async screen(): Promise<string[]> {
    return (await this.tmux("capture-pane", "-p", "-t", "demo")).trimEnd().split("\n");
  }

  /** History and screen, wrapped rows joined. */
  async everything(): Promise<string[]> {
    return (await this.tmux("capture-pane", "-p", "-J", "-S", "-", "-t", "demo"))
      .trimEnd()
      .split("\n")
      .map((row) => row.trimEnd());
  }

  async display(format: string): Promise<string> {
    return (await this.tmux("display-message", "-p", "-t", "demo", format)).trimEnd();
  }

  /** Waits until a visible row contains `text`. */
  async sees(text: string): Promise<string[]> {
    return this.until(`"${text}" on the screen`, async () => {
      const rows = await this.screen();
      return rows.some((row) => row.includes(text)) ? rows : undefined;
    });
  }

  /** Waits until `probe` returns a value. @throws Error with the last screen after 30 s. */
  async until<T>(what: string, probe: () => Promise<T | undefined>): Promise<T> {
    const deadline = performance.now() + 30_000;
    for (;;) {
      const found = await probe();
      if (found !== undefined) return found;
      if (performance.now() > deadline) throw new Error(`never: ${what}\n${(await this.screen()).join("\n")}`);
      await systemClock.sleep(15);
    }
  }

  async taken(): Promise<Taken[]> {
    const text = await readFile(this.path("log"), "utf8").catch(() => "");
    return text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Taken);
  }

  /** Waits until the agent has taken `count` messages; returns their texts. */
  async takes(count: number): Promise<string[]> {
    return this.until(`${count} messages taken`, async () => {
      const taken = await this.taken();
      return taken.length >= count ? taken.map((message) => message.text) : undefined;
    });
  }

  async toolLog(): Promise<string[]> {
    const text = await readFile(this.path("tool"), "utf8").catch(() => "");
    return text.split("\n").filter(Boolean);
  }

  /** Waits for the agent's end; returns its exit code. */
  async exitCode(): Promise<number> {
    return this.until("the agent's end", async () => {
      const [dead, status, server] = (await this.display("#{pane_dead},#{pane_dead_status},#{pid}")).split(",");
      // tmux can miss a child's end while it is busy, and checks again at the next SIGCHLD.
      if (dead === "1" && status === "") process.kill(Number(server), "SIGCHLD");
      return dead === "1" && status !== "" ? Number(status) : undefined;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tmux("kill-server").catch(() => {});
    await rm(this.dir, { recursive: true, force: true, maxRetries: 5 });
  }
}
