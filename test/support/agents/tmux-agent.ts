import { execFile } from "node:child_process";
import { mkdir, mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual, promisify } from "node:util";
import type { AgentProfile, LaunchPlan, ScreenView } from "../../../internal/agents/profile.ts";
import { profileNamed } from "../../../internal/agents/programs/registry.ts";
import type { Screen } from "../../../internal/agents/screen.ts";
import { ModelServer } from "../../fakes/model-server.ts";
import { recordPane } from "../screens/record-pane.ts";
import { type RecordedScreen, screenFromRecording } from "../screens/screen-from-ansi.ts";
import { type AgentHome, type AgentHomeOptions, type AgentKind, makeAgentHome } from "./agents-home.ts";
import { type AgentProgram, agentProgram } from "./agents-install.ts";

const run = promisify(execFile);

export interface TmuxAgentOptions {
  readonly program: AgentProgram;
  /** The file of another version to run instead. */
  readonly path?: string;
  /** Arguments behind the program's own. */
  readonly args?: readonly string[];
  readonly state?: AgentHomeOptions["state"];
  readonly cols?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Puts a person's own files into the home folder before the start. */
  readonly prepare?: (home: string) => Promise<void>;
}

/** A look costs a tmux process and, after a change, an emulator. */
const LOOK_MS = 75;

const CONFIG = `set -s exit-empty off
set -s escape-time 0
set -g status off
set -g history-limit 20000
set -g remain-on-exit on
set -g remain-on-exit-format ''
set -g default-terminal tmux-256color
set -s set-clipboard off
set -g prefix None
`;

/** A real agent program in a private tmux server, talking to a fake model; disposing removes everything. */
export class TmuxAgent {
  readonly profile: AgentProfile;
  readonly model: ModelServer;
  readonly home: AgentHome;
  readonly plan: LaunchPlan;
  readonly dir: string;
  readonly #hooks: { readonly lines: string[]; readonly close: () => Promise<void> };
  #last: RecordedScreen | undefined;

  private constructor(parts: {
    profile: AgentProfile;
    model: ModelServer;
    home: AgentHome;
    plan: LaunchPlan;
    dir: string;
    hooks: { readonly lines: string[]; readonly close: () => Promise<void> };
  }) {
    this.profile = parts.profile;
    this.model = parts.model;
    this.home = parts.home;
    this.plan = parts.plan;
    this.dir = parts.dir;
    this.#hooks = parts.hooks;
  }

  static async start(options: TmuxAgentOptions): Promise<TmuxAgent> {
    const kind = options.program.split("-", 1)[0] as AgentKind;
    const profile = profileNamed(kind);
    const dir = await mkdtemp(join(tmpdir(), "gt-agent-"));
    const model = await ModelServer.listen();
    const home = await makeAgentHome({ agent: kind, dir, modelUrl: model.url, state: options.state });
    await options.prepare?.(home.home);
    const stateDir = join(dir, "state");
    const hookDir = join(dir, "hooks");
    const hookFifo = join(dir, "hooks.fifo");
    await mkdir(stateDir, { mode: 0o700 });
    await mkdir(hookDir, { mode: 0o700 });
    await run("mkfifo", ["-m", "600", hookFifo]);
    const hooks = await readFifo(hookFifo);
    // The link has the usual name, by which the profile recognises its program.
    const bin = join(dir, "bin");
    await mkdir(bin);
    await run("ln", ["-s", options.path ?? (await agentProgram(options.program)), join(bin, kind)]);
    const plan = profile.launch({
      command: [join(bin, kind), ...(options.args ?? [])],
      stateDir,
      hookFifo,
      hookDir,
      home: home.home,
    });
    for (const [path, text] of Object.entries(plan.files)) await writeFile(path, text, { mode: 0o600 });
    const session = new TmuxAgent({ profile, model, home, plan, dir, hooks });
    await session.#startTmux(options);
    return session;
  }

  async #startTmux(options: TmuxAgentOptions): Promise<void> {
    await writeFile(join(this.dir, "tmux.conf"), CONFIG);
    const env = { ...this.home.env, ...options.env, ...this.plan.env, TERM: "tmux-256color" };
    const size = ["-x", String(options.cols ?? 160), "-y", String(options.rows ?? 50)];
    const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const command = ["env", "-i", ...assignments, ...this.plan.argv];
    const config = ["-f", join(this.dir, "tmux.conf")];
    await this.tmux(...config, "new-session", "-d", "-s", "claude", ...size, "-c", this.home.workdir, ...command);
  }

  /** The lines from the hook FIFO so far. */
  get hookLines(): readonly string[] {
    return this.#hooks.lines;
  }

  async tmux(...args: string[]): Promise<string> {
    const { stdout } = await run("tmux", ["-u", "-S", join(this.dir, "tmux.sock"), ...args], {
      maxBuffer: 64 << 20,
      env: { PATH: process.env["PATH"] },
    });
    return stdout;
  }

  async type(text: string): Promise<void> {
    await this.tmux("send-keys", "-l", "-t", "claude:", "--", text);
  }

  async key(...names: string[]): Promise<void> {
    await this.tmux("send-keys", "-t", "claude:", ...names);
  }

  /** Pastes with brackets, as a delivery does. */
  async paste(text: string): Promise<void> {
    const file = join(this.dir, "paste");
    await writeFile(file, text);
    await this.tmux("load-buffer", "-b", "paste", file);
    await this.tmux("paste-buffer", "-d", "-p", "-b", "paste", "-t", "claude:");
  }

  /** The same object as before if nothing on the screen has changed, so that it is drawn only once. */
  async record(): Promise<RecordedScreen> {
    const now = await recordPane(join(this.dir, "tmux.sock"), "claude:");
    if (this.#last === undefined || !isDeepStrictEqual(now, this.#last)) this.#last = now;
    return this.#last;
  }

  async screen(): Promise<Screen> {
    return screenFromRecording(await this.record());
  }

  async view(): Promise<ScreenView> {
    return this.profile.view(await this.screen());
  }

  /** The first view that satisfies `wanted`; fails with the screen's text after `timeoutMs`. */
  async until(
    what: string,
    wanted: (view: ScreenView, screen: Screen) => boolean,
    timeoutMs = 60_000,
  ): Promise<ScreenView> {
    const end = Date.now() + timeoutMs;
    for (;;) {
      const screen = await this.screen();
      const view = this.profile.view(screen);
      if (wanted(view, screen)) return view;
      if (Date.now() > end) {
        const shown = screen.lines
          .map((line) => line.text)
          .join("\n")
          .trimEnd();
        throw new Error(`never saw ${what}; view ${JSON.stringify(view)}, title ${screen.title}, screen:\n${shown}`);
      }
      await sleep(LOOK_MS);
    }
  }

  /** Waits for an empty composer without a busy mark in five looks in a row. */
  async idle(timeoutMs = 60_000): Promise<void> {
    let seen = 0;
    await this.until(
      "an idle composer",
      (view) => {
        const calm = view.composer !== undefined && view.composer.text === "" && view.busy === undefined;
        seen = calm ? seen + 1 : 0;
        return seen >= 5;
      },
      timeoutMs,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pid = await this.tmux("display-message", "-p", "-t", "claude:", "#{pane_pid}").catch(() => "");
    await this.tmux("kill-server").catch(() => {});
    await gone(Number(pid.trim()));
    await this.#hooks.close();
    await this.model[Symbol.asyncDispose]();
    await rm(this.dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** Waits for the hang-up to end the agent; kills the agent after 3 s. */
async function gone(pid: number): Promise<void> {
  if (!(pid > 1)) return;
  for (let i = 0; i < 100; i += 1) {
    try {
      process.kill(pid, i === 60 ? "SIGKILL" : 0);
    } catch {
      return;
    }
    await sleep(50);
  }
}

/** Opened for both directions, so that neither end ever waits and writers never see it closed. */
async function readFifo(path: string): Promise<{ readonly lines: string[]; readonly close: () => Promise<void> }> {
  const handle = await open(path, "r+");
  const lines: string[] = [];
  let rest = "";
  let done = false;
  const reading = (async () => {
    const buffer = Buffer.alloc(65_536);
    while (!done) {
      const { bytesRead } = await handle.read(buffer);
      const parts = (rest + buffer.toString("utf8", 0, bytesRead)).split("\n");
      rest = parts.pop() ?? "";
      lines.push(...parts.filter((line) => line !== ""));
    }
  })();
  return {
    lines,
    close: async () => {
      done = true;
      await handle.write("\n");
      await reading;
      await handle.close();
    },
  };
}
