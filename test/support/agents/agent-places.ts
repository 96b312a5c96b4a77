import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { systemClock } from "../../../internal/base/clock.ts";
import { parseFlags } from "../../../internal/cli/flags.ts";
import type { Backend } from "../../../internal/terminal/backend.ts";
import { type LocalSidecar, listLocalSidecars } from "../../../internal/terminal/finding/local-sidecars.ts";
import { agentsHere } from "../../../internal/terminal/places/agents-here.ts";
import { type PlaceConfig, readPlace } from "../../../internal/terminal/places/place-config.ts";
import { PLACE_FLAGS } from "../../../internal/terminal/places/place-flags.ts";
import { resolveBackend } from "../../../internal/terminal/resolve.ts";
import { eventually } from "../eventually.ts";
import { FILE_MARK } from "../leaks.ts";
import { programFile } from "../programs.ts";

export interface PlaceOptions {
  /** The agent's program, given the test's private folder. */
  readonly argv: (dir: string) => readonly [string, ...string[]];
  readonly profile: "demo" | "generic";
  readonly cols?: number;
  readonly rows?: number;
}

/** An agent that is running somewhere, and the access to it. `await using` ends everything. */
export interface AgentPlace extends AsyncDisposable {
  /** The test's private folder. */
  readonly dir: string;
  /** The environment in which `gt` finds only this agent. */
  readonly env: Readonly<Record<string, string>>;
  /** The command-line flags of `gt` for the agent, whose address is `toast`. */
  readonly flags: readonly string[];
  readonly backend: Backend;
  /** Presses keys as a person at the agent's terminal does. */
  keys(...names: string[]): Promise<void>;
}

const run = promisify(execFile);

/** The demo agent; it writes each message that it has taken into `taken.jsonl` in the test's folder. */
export function demoAgent(dir: string, ...flags: string[]): [string, ...string[]] {
  const log = join(dir, "taken.jsonl");
  return [process.execPath, programFile("demo-agent"), "--turn-ms", "300", "--steps", "1", "--log", log, ...flags];
}

/** A program that prints a text and stays. */
export function printer(text: string): [string, ...string[]] {
  return [process.execPath, "-e", "process.stdout.write(process.argv[1]); process.stdin.resume()", text];
}

/** The messages that a demo agent took, in order. */
export async function takenMessages(place: AgentPlace): Promise<readonly string[]> {
  const text = await readFile(join(place.dir, "taken.jsonl"), "utf8").catch(() => "");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => (JSON.parse(line) as { text: string }).text);
}

/** A private folder and an environment without this machine's own agents. */
export async function privatePlace(): Promise<{ readonly dir: string; readonly env: Record<string, string> }> {
  const dir = await mkdtemp(join(tmpdir(), "gt-place-"));
  const runtime = join(dir, "run");
  await mkdir(runtime, { mode: 0o700 });
  const kept = Object.entries(process.env).filter(
    ([name]) => (!name.startsWith("TMUX") && !name.startsWith("GT_")) || name === FILE_MARK,
  );
  const env = Object.fromEntries(kept.map(([name, value]) => [name, value ?? ""]));
  return { dir, env: { ...env, XDG_RUNTIME_DIR: runtime, TMUX_TMPDIR: dir, HOME: dir, USER: "ann" } };
}

/** An agent in a session `gt-toast` of a private tmux server. */
export async function inLocalTmux(options: PlaceOptions): Promise<AgentPlace> {
  const { cols = 100, rows = 30 } = options;
  const { dir, env } = await privatePlace();
  const socket = join(dir, "tmux.sock");
  const conf = join(dir, "tmux.conf");
  await writeFile(
    conf,
    "set -g remain-on-exit on\nset -g remain-on-exit-format ''\nset -g history-limit 20000\nset -g status off\n",
  );
  const size = ["-x", String(cols), "-y", String(rows)];
  await run(
    "tmux",
    ["-u", "-S", socket, "-f", conf, "new-session", "-d", "-s", "gt-toast", "-c", dir, ...size, ...options.argv(dir)],
    { env },
  );
  const flags = ["--socket", socket, "--agent-profile", options.profile];
  const backend = await openBackend(flags, env);
  return {
    dir,
    env,
    flags,
    backend,
    keys: async (...names) =>
      void (await run("tmux", ["-S", socket, "send-keys", "-t", "=gt-toast:", ...names], { env })),
    [Symbol.asyncDispose]: async () => {
      await backend[Symbol.asyncDispose]();
      await run("tmux", ["-S", socket, "kill-server"], { env }).catch(() => {});
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** An agent in a gt-sidecar of its own, under the address `toast`. */
export async function inSidecar(options: PlaceOptions): Promise<AgentPlace> {
  const { cols = 100, rows = 30 } = options;
  const { dir, env } = await privatePlace();
  const state = join(dir, "state");
  const listen = ["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0", "--state-dir", state];
  const agent = [
    "--agent",
    options.profile,
    "--address",
    "toast",
    "--restart",
    "never",
    "--linger",
    "30s",
    "--log-level",
    "warn",
  ];
  const size = ["--cols", String(cols), "--rows", String(rows)];
  const args = [programFile("gt-sidecar"), ...listen, ...agent, ...size, "--", ...options.argv(dir)];
  const child = spawn(process.execPath, args, { cwd: dir, env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said += chunk;
  });
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  const stop = async () => {
    child.kill("SIGTERM");
    const killed = setTimeout(() => child.kill("SIGKILL"), 15_000);
    await ended;
    clearTimeout(killed);
    await rm(dir, { recursive: true, force: true });
  };
  try {
    const sidecar = await announced(join(dir, "run", "gt-sidecars"), () => child.exitCode === null);
    const flags = ["--port", sidecar.listen.split(":")[1] ?? ""];
    const backend = await openBackend(flags, env);
    return {
      dir,
      env,
      flags,
      backend,
      keys: async (...names) =>
        void (await run("tmux", ["-S", join(state, "tmux.sock"), "send-keys", "-t", "=claude:", ...names], { env })),
      [Symbol.asyncDispose]: async () => {
        await backend[Symbol.asyncDispose]();
        await stop();
      },
    };
  } catch (err) {
    await stop();
    throw new Error(`the sidecar did not start: ${said}`, { cause: err });
  }
}

/** The one sidecar that announces itself in a folder. */
async function announced(folder: string, lives: () => boolean): Promise<LocalSidecar> {
  return await eventually(
    "a sidecar is announced",
    async () => {
      if (!lives()) throw new Error("it ended");
      return (await listLocalSidecars(folder))[0];
    },
    60_000,
  );
}

async function openBackend(flags: readonly string[], env: Record<string, string>): Promise<Backend> {
  const place: PlaceConfig = readPlace(parseFlags(PLACE_FLAGS, flags, env).values, env);
  const deps = await agentsHere(place, { clock: systemClock, note: () => {} });
  const { host, port, localOnly } = place;
  const query = { agent: "toast", localOnly, host: host || undefined, port: port || undefined };
  return (await resolveBackend(query, deps, AbortSignal.timeout(60_000))).backend;
}
