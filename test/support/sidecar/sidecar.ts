import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient } from "@connectrpc/connect";
import { SidecarService } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarTransport } from "../../../internal/rpc/client/transport.ts";
import { pauseAfter } from "../eventually.ts";
import { programFile } from "../programs.ts";
import { firstProcessOf, PID_NAMESPACE } from "./pid-namespace.ts";

/** A serving half that answers slowly is restarted, so a busy machine takes a minute and more. */
export const RESTART_MS = 180_000;

export interface SidecarSetup {
  /** Default `demo`. */
  readonly agent?: string;
  /** Default `test/polecats/demo`. */
  readonly address?: string | undefined;
  /** Default: the demo agent with a short turn and its log in `dir`. */
  readonly command?: readonly string[];
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Address to listen on; default: a free port of 127.0.0.1. */
  readonly listen?: string;
  /** Runs before the start. */
  readonly prepare?: () => Promise<void>;
  /** The file to run instead. */
  readonly program?: string | undefined;
  /** Runs it as the first process of its own pid namespace; see `requirePidNamespace`. */
  readonly isFirst?: boolean;
}

/** A real gt-sidecar with a real tmux and a real agent program, on free ports in its own folder. */
export interface RunningSidecar extends AsyncDisposable {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly healthUrl: string;
  readonly client: Client<typeof SidecarService>;
  readonly process: ChildProcess;
  readonly dir: string;
  readonly stateDir: string;
  /** The folder in which `gt` finds only this test's running sidecars: pass it as XDG_RUNTIME_DIR. */
  readonly runtimeDir: string;
  /** The messages that the demo agent took, oldest first. */
  taken(): Promise<readonly string[]>;
  /** The sidecar's log so far. */
  log(): string;
  /** The pid of the serving half that announced itself last. */
  servingPid(): number;
  /** Waits until the agent is in one of these states. */
  untilState(...states: number[]): Promise<void>;
  /** Sends it a signal. */
  signal(name: NodeJS.Signals): void;
  /** Its exit code, once it has ended. */
  readonly exited: Promise<number>;
}

/** The demo agent's command line with a short turn and its logs in `dir`. */
export function demoCommand(dir: string, ...flags: string[]): readonly string[] {
  const log = ["--log", join(dir, "taken.jsonl"), "--tool-log", join(dir, "tools.log")];
  return [process.execPath, programFile("demo-agent"), "--turn-ms", "300", "--steps", "1", ...log, ...flags];
}

/** A sidecar's process, and its log. */
interface Spawned {
  readonly child: ChildProcess;
  readonly exited: Promise<number>;
  log(): string;
  signal(name: NodeJS.Signals): void;
}

/** `folder`: the folder of an earlier, killed sidecar, which is kept afterwards; else a new one that is removed. */
export async function startSidecar(
  setup: SidecarSetup | ((dir: string) => SidecarSetup) = {},
  folder?: string,
): Promise<RunningSidecar> {
  const dir = folder ?? (await mkdtemp(join(tmpdir(), "gt-test-")));
  const chosen = typeof setup === "function" ? setup(dir) : setup;
  await chosen.prepare?.();
  const { child, exited, log, signal } = spawnSidecar(chosen, dir);
  const { listen, healthListen } = await addresses(child, log).catch(async (err: unknown) => {
    await kill(child, exited);
    throw err;
  });
  const [host = "", port = ""] = listen.split(":");
  const url = `http://${listen}`;
  const connection = sidecarTransport({ baseUrl: url });
  const client = createClient(SidecarService, connection.transport);
  return {
    url,
    host,
    port: Number(port),
    healthUrl: `http://${healthListen}`,
    client,
    process: child,
    dir,
    stateDir: join(dir, "state"),
    runtimeDir: dir,
    signal,
    exited,
    taken: () => takenMessages(join(dir, "taken.jsonl")),
    log,
    servingPid: () => lastLine(log(), "serving")?.pid ?? 0,
    untilState: (...states) => untilState(client, states, log),
    [Symbol.asyncDispose]: async () => {
      connection[Symbol.dispose]();
      if (child.exitCode === null && child.signalCode === null) signal("SIGTERM");
      await exited;
      if (folder === undefined) await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function spawnSidecar(setup: SidecarSetup, dir: string): Spawned {
  const { agent = "demo", address = "test/polecats/demo", command = demoCommand(dir) } = setup;
  const { flags = [], env = {}, program = programFile("gt-sidecar"), isFirst = false } = setup;
  const args = ["--agent", agent, "--state-dir", join(dir, "state"), "--workdir", dir, "--address", address];
  const listen = ["--listen", setup.listen ?? "127.0.0.1:0", "--health-listen", "127.0.0.1:0", "--grace", "5s"];
  const argv = [process.execPath, program, ...args, ...listen, ...flags, "--", ...command];
  const [runs = "", ...its] = isFirst ? [...PID_NAMESPACE, ...argv] : argv;
  const child = spawn(runs, its, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: process.env["PATH"], HOME: dir, LANG: "C.UTF-8", XDG_RUNTIME_DIR: dir, ...env },
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    log += chunk;
  });
  return {
    child,
    exited: new Promise<number>((resolve) => child.on("exit", (code) => resolve(code ?? -1))),
    log: () => log,
    signal: (name) => {
      const pid = child.pid ?? 0;
      process.kill(isFirst ? firstProcessOf(pid) : pid, name);
    },
  };
}

/** Its serving address and its health address, once it has logged both. Fails if it ends before. */
async function addresses(
  child: ChildProcess,
  log: () => string,
): Promise<{ readonly listen: string; readonly healthListen: string }> {
  const announced = (message: string) => () => {
    if (child.exitCode !== null) throw new Error(`the sidecar ended with ${child.exitCode}\n${log()}`);
    return lastLine(log(), message)?.listen;
  };
  const listen = await until("the sidecar to serve", RESTART_MS, announced("serving"), log);
  return { listen, healthListen: await until("the health listener", RESTART_MS, announced("health served"), log) };
}

async function kill(child: ChildProcess, exited: Promise<number>): Promise<void> {
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), 15_000);
  await exited;
  clearTimeout(late);
}

async function untilState(
  client: Client<typeof SidecarService>,
  states: readonly number[],
  log: () => string,
): Promise<void> {
  const ask = async () => (states.includes((await client.status({})).state) ? true : undefined);
  try {
    await until(`state ${states}`, RESTART_MS, ask);
  } catch (err) {
    const { state, evidence } = await client.status({});
    const { output } = await client.peek({ lines: 50 });
    const why = evidence.map((item) => `${item.source} ${item.value}`);
    throw new Error(`state ${state}: ${why}\n${output}\n${log()}`, { cause: err });
  }
}

function lastLine(log: string, message: string): { readonly listen: string; readonly pid: number } | undefined {
  const line = log.split("\n").findLast((text) => text.includes(`"msg":"${message}"`));
  return line === undefined ? undefined : JSON.parse(line);
}

async function takenMessages(file: string): Promise<readonly string[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line).text);
}

/**
 * Asks again until there is an answer; fails with `what` and `context` after `ms`. `pause`: the time to the next look,
 * ms; default 10 to 100 ms.
 */
export async function until<T>(
  what: string,
  ms: number,
  ask: () => T | undefined | Promise<T | undefined>,
  context: () => string = () => "",
  pause: (waitedMs: number) => number = pauseAfter,
): Promise<T> {
  const begun = performance.now();
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    const waitedMs = performance.now() - begun;
    if (waitedMs > ms) throw new Error(`waited ${ms} ms for ${what}\n${context()}`);
    await new Promise((resolve) => setTimeout(resolve, pause(waitedMs)));
  }
}
