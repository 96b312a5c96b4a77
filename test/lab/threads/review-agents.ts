import { AgentState, NudgeOutcome } from "../../../internal/gen/gastown/v1/common_pb.ts";
import type { Random } from "../../fuzz/random.ts";
import type { AgentProgram } from "../../support/agents/agents-install.ts";
import { eventually } from "../../support/eventually.ts";
import { KillOnce } from "../../support/threads/kill-once.ts";
import { ThreadAgent } from "../../support/threads/thread-agent.ts";
import type { ModelReply } from "../../support/threads/thread-model.ts";
import type { ThreadsServer } from "../../support/threads/threads-server.ts";
import { REAL_PROGRAMS, textsOf } from "./real-target.ts";
import { FIXES, REVIEWS, reviewModel, SAYS } from "./review-model.ts";

/** An agent program can take minutes to answer while other work occupies the cores. */
const ANSWER_MS = 240_000;
const NUDGE_MS = 60_000n;

/** A real agent program in the review loop. */
class ReviewAgent implements AsyncDisposable {
  readonly thread: ThreadAgent;
  readonly #kills = new KillOnce();

  private constructor(thread: ThreadAgent) {
    this.thread = thread;
  }

  static async start(
    server: ThreadsServer,
    program: AgentProgram,
    role: string,
    part: ModelReply,
  ): Promise<ReviewAgent> {
    return new ReviewAgent(await ThreadAgent.start(server, { program, role, model: reviewModel(part) }));
  }

  get address(): string {
    return this.thread.address;
  }

  /** The texts of wakes that it received. */
  get taken(): readonly string[] {
    return textsOf(this.thread.agent.model.requests.map(({ userTexts }) => userTexts));
  }

  /** The processes of its sidecar. */
  get pids(): readonly number[] {
    const { sidecar } = this.thread.agent;
    return [sidecar.process.pid ?? 0, sidecar.servingPid()];
  }

  /** Kills the serving half of its sidecar. False: it has not come back since the last kill. */
  killServing(): boolean {
    return this.#kills.kill(this.thread.agent.sidecar.servingPid());
  }

  /** Kills the agent program if it is idle, that is, after it has taken everything it was given. */
  async killIdle(): Promise<boolean> {
    const status = await this.thread.agent.sidecar.client.status({}).catch(() => undefined);
    if (status?.state !== AgentState.IDLE || status.agentPid === 0) return false;
    process.kill(status.agentPid, "SIGKILL");
    return true;
  }

  async idle(): Promise<void> {
    const { client } = this.thread.agent.sidecar;
    const isIdle = () =>
      client.status({}).then(
        ({ state }) => state === AgentState.IDLE,
        () => false,
      );
    await eventually(`${this.address} is idle`, isIdle, ANSWER_MS);
  }

  /** Types `message` into its terminal as a person would, and waits until the terminal shows `says`. */
  async byHand(message: string, says: string): Promise<void> {
    const { client } = this.thread.agent.sidecar;
    const { outcome } = await client.nudge({ message, timeoutMs: NUDGE_MS });
    const { SUBMITTED, UNKNOWN } = NudgeOutcome; // UNKNOWN occurs on a busy machine: the person then reads the screen
    if (outcome !== SUBMITTED && outcome !== UNKNOWN)
      throw new Error(`${this.address}: the nudge ended with ${outcome}`);
    await eventually(says, async () => (await client.peek({ lines: 100 })).output.includes(says), ANSWER_MS);
    await this.idle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.thread[Symbol.asyncDispose]();
  }
}

/** Claude Code, which reviews, and the programs that take turns at fixing. */
export class ReviewAgents implements AsyncDisposable {
  readonly reviewer: ReviewAgent;
  readonly fixers: readonly ReviewAgent[];
  readonly #running: AsyncDisposableStack;

  private constructor(reviewer: ReviewAgent, fixers: readonly ReviewAgent[], running: AsyncDisposableStack) {
    this.reviewer = reviewer;
    this.fixers = fixers;
    this.#running = running;
  }

  /** `fixers`: the names of their programs in `REAL_PROGRAMS`. */
  static async start(servers: readonly ThreadsServer[], fixers: readonly string[]): Promise<ReviewAgents> {
    await using stack = new AsyncDisposableStack();
    const start = async (at: number, name: string, role: string, part: ModelReply) => {
      const [server, program] = [servers[at % servers.length], REAL_PROGRAMS[name]];
      if (server === undefined || program === undefined) throw new Error(`no server or no program ${name}`);
      return stack.use(await ReviewAgent.start(server, program, role, part));
    };
    const reviewer = await start(0, "claude", "reviewer", REVIEWS);
    const others: ReviewAgent[] = [];
    for (const [at, name] of fixers.entries()) others.push(await start(at + 1, name, `fixer-${name}`, FIXES));
    return new ReviewAgents(reviewer, others, stack.move());
  }

  get all(): readonly ReviewAgent[] {
    return [this.reviewer, ...this.fixers];
  }

  /** The fixer of a cycle. */
  fixer(cycle: number): ReviewAgent {
    return this.fixers[cycle % this.fixers.length] as ReviewAgent;
  }

  any(random: Random): ReviewAgent {
    return this.all[random(this.all.length)] as ReviewAgent;
  }

  /** One review, fix and second review in which a person carries each text without pauses. */
  async cycleByHand(change: number): Promise<void> {
    const says = (verb: keyof typeof SAYS) => `${SAYS[verb]} in change ${change}`;
    await this.reviewer.byHand(`review change ${change}`, says("review"));
    await this.fixer(change).byHand(`fix change ${change}: ${says("review")}`, says("fix"));
    await this.reviewer.byHand(`look again at change ${change}: ${says("fix")}`, says("look again at"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running.disposeAsync();
  }
}
