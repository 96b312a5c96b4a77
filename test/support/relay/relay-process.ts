import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { programFile } from "../programs.ts";
import { type Ran, runToEnd } from "../run-to-end.ts";
import { until } from "../sidecar/sidecar.ts";

export type LogLine = Readonly<Record<string, unknown>>;

/** A relay that runs as its own process. */
export class RelayProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  #log = "";

  private constructor(child: ChildProcess) {
    this.child = child;
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#log += text;
    });
  }

  /** Resolves when it serves. */
  static async start(natsUrl: string, { args = [], env = {} }: RelayOptions = {}): Promise<RelayProcess> {
    const relay = RelayProcess.spawn(natsUrl, { args, env });
    try {
      await relay.logged("serving");
      return relay;
    } catch (err) {
      relay.child.kill("SIGKILL");
      throw err;
    }
  }

  static spawn(natsUrl: string, { args = [], env = {} }: RelayOptions = {}): RelayProcess {
    const flags = ["--nats-url", natsUrl, "--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0", ...args];
    const child = spawn(process.execPath, [programFile("relay"), "serve", ...flags], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, ...env },
    });
    return new RelayProcess(child);
  }

  get log(): string {
    return this.#log;
  }

  get lines(): readonly LogLine[] {
    return wholeLines(this.#log)
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as LogLine);
  }

  /** The first line of an action, once it is logged. */
  logged(action: string): Promise<LogLine> {
    const line = () => {
      const found = this.lines.find((each) => each["action"] === action);
      if (found === undefined && this.child.exitCode !== null) throw new Error(`the relay has ended\n${this.#log}`);
      return found;
    };
    return until(`the relay to log ${action}`, 60_000, line, () => this.#log);
  }

  /** `ws://HOST:PORT` */
  async url(): Promise<string> {
    return `ws://${String((await this.logged("serving"))["listen"])}`;
  }

  async health(path: string): Promise<Response> {
    return fetch(`http://${String((await this.logged("health_served"))["listen"])}${path}`);
  }

  async exited(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, "exit");
    return this.child.exitCode;
  }

  /** Ends it gracefully; returns the exit code. */
  async stop(): Promise<number | null> {
    this.child.kill("SIGTERM");
    return this.exited();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited();
  }
}

export interface RelayOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The complete lines of a log, without empty ones. */
export function wholeLines(log: string): readonly string[] {
  const whole = log.slice(0, log.lastIndexOf("\n") + 1);
  return whole.split("\n").filter((line) => line !== "");
}

/** Runs a command of the relay to its end. */
export async function runRelay(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  return await runToEnd(process.execPath, [programFile("relay"), ...args], { env: { ...process.env, ...env } });
}
