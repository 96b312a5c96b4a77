import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentProfile, ScreenView } from "../../../internal/agents/profile.ts";
import { profileNamed } from "../../../internal/agents/programs/registry.ts";
import { processLives } from "../../../internal/process/process-lives.ts";
import { ModelServer } from "../../fakes/model-server.ts";
import { until } from "../sidecar/sidecar.ts";
import { type AgentKind, makeAgentHome } from "./agents-home.ts";
import { type AgentProgram, agentProgram } from "./agents-install.ts";
import { type DrawnProgram, drawnProgram } from "./drawn-program.ts";

/** A real agent program in a real tmux, also drawn by our emulator, talking to a fake model. */
export class DrawnAgent implements AsyncDisposable {
  readonly program: DrawnProgram;
  readonly model: ModelServer;
  readonly #profile: AgentProfile;
  readonly #stack: AsyncDisposableStack;

  private constructor(program: DrawnProgram, model: ModelServer, profile: AgentProfile, stack: AsyncDisposableStack) {
    this.program = program;
    this.model = model;
    this.#profile = profile;
    this.#stack = stack;
  }

  static async start(name: AgentProgram, args: readonly string[]): Promise<DrawnAgent> {
    const kind = name.split("-", 1)[0] as AgentKind;
    const path = await agentProgram(name);
    await using stack = new AsyncDisposableStack();
    const dir = await mkdtemp(join(tmpdir(), "gt-agent-"));
    stack.defer(() => rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
    const model = stack.use(await ModelServer.listen());
    const { env, workdir } = await makeAgentHome({ agent: kind, dir, modelUrl: model.url });
    const assignments = Object.entries({ ...env, TERM: "tmux-256color" }).map(([key, value]) => `${key}=${value}`);
    // A child of a shell: tmux would continue its own child at once after a SIGSTOP.
    const shell = ["sh", "-c", '"$@"; true', "sh"];
    const argv = ["env", "-i", ...assignments, ...shell, path, ...args] as const;
    const program = await drawnProgram(argv, { cwd: workdir });
    return new DrawnAgent(program, model, profileNamed(kind), stack.move());
  }

  /** Submits text through the composer. */
  async say(text: string): Promise<void> {
    await this.program.pane.sendText(text);
    await this.until("the text in the composer", (view) => view.composer?.text === text);
    await sleep(150);
    await this.program.pane.sendKeys(["Enter"]);
  }

  /** Waits for a screen that fits. */
  async until(what: string, fits: (view: ScreenView, text: string) => boolean): Promise<void> {
    let shown = "";
    const look = () => {
      const screen = this.program.emulator.screen();
      shown = screen.lines.map((line) => line.text).join("\n");
      return fits(this.#profile.view(screen), shown) || undefined;
    };
    await until(what, 60_000, look, () => shown);
  }

  /** Stops the program until this is disposed of: a working agent never stands still by itself. */
  async freeze(): Promise<Disposable> {
    const pid = await this.#pid();
    process.kill(pid, "SIGSTOP");
    return { [Symbol.dispose]: () => process.kill(pid, "SIGCONT") };
  }

  /** The shell's one child. */
  async #pid(): Promise<number> {
    const { pid: shell } = await this.program.pane.facts();
    const children = await readFile(`/proc/${shell}/task/${shell}/children`, "utf8");
    return Number(children.split(" ")[0]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pid = await this.#pid().catch(() => 0); // it may have ended
    await this.program[Symbol.asyncDispose]();
    // Until its end it writes to the folder that is to be removed.
    await until("the agent's end", 30_000, () => !processLives(pid) || undefined);
    await this.#stack.disposeAsync();
  }
}
