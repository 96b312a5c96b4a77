import { type Clock, systemClock } from "../../../internal/base/clock.ts";
import type { DomainError } from "../../../internal/base/errors.ts";
import { createLogger } from "../../../internal/base/logger.ts";
import type {
  Runtime,
  RuntimeKind,
  RuntimeStatus,
  SessionSpawner,
  TurnRunner,
  WakeReceipt,
  WakeRequest,
} from "../../../internal/threads/domain/runtimes.ts";
import type { NudgeOutcomeWord } from "../../../internal/threads/domain/wake-outcomes.ts";
import { WakeRun } from "../../../internal/threads/wake/wake-run.ts";
import type { WakeWorkerDeps } from "../../../internal/threads/wake/wake-worker-deps.ts";
import type { ThreadsGround } from "./threads-ground.ts";

const BY = "seat";
const LONG = AbortSignal.timeout(900_000);
/** Waits are short: the database's clock decides what is due. */
const QUICK: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 20), signal) };

/** An agent's sidecar as a test defines it: its status, and the outcomes of texts. */
export class WakeSeat {
  readonly agent: string;
  /** Idle for long by default. */
  status: RuntimeStatus = { alive: true, state: "idle", stateSince: 0, epoch: "e", draft: false };
  outcome: NudgeOutcomeWord = "queued";
  readonly asked: WakeRequest[] = [];
  readonly takenBack: string[] = [];
  /** The agent's session runs. */
  isLive = true;
  /** Its state cannot be queried. */
  failure: DomainError | undefined;
  sessionId: string;
  /** Absent: no session is started in place of an ended one. */
  starter: SessionSpawner | undefined;
  /** Absent: conversations go on in sessions only. */
  runner: TurnRunner | undefined;
  readonly #ground: ThreadsGround;

  constructor(ground: ThreadsGround, agent: string) {
    this.#ground = ground;
    this.agent = agent;
    this.sessionId = `session of ${agent}`;
  }

  get deps(): WakeWorkerDeps {
    const { store, changes } = this.#ground.service;
    const logger = createLogger("test", "silent");
    return { clock: QUICK, logger, store, changes, wakes: this.#ground.wakes, runtimes: this.#runtimes() };
  }

  /** Works on the agent's wake until its run has ended. */
  async work(signal = LONG): Promise<void> {
    const claimed = (await this.#ground.wakes.claim(BY, 1000, this.#kind)).find(
      ({ wake }) => wake.agentId === this.agent,
    );
    if (claimed === undefined) throw new Error(`${this.agent} has no wake that is due`);
    await new WakeRun({ ...this.deps, by: BY }, claimed).run(signal);
  }

  get #kind(): RuntimeKind {
    return this.starter ? "bridge" : "sidecar";
  }

  #runtimes(): WakeWorkerDeps["runtimes"] {
    const receipt = (outcome = this.outcome): WakeReceipt => ({ outcome, error: "", evidence: [] });
    const runtime: Runtime = {
      ...{ kind: this.#kind, sessionId: this.sessionId, provider: "demo" },
      started: this.starter && { repoPath: "/repo", agentOpts: { mode: "terminal" } },
      nudge: async (request) => {
        this.asked.push(request);
        return receipt();
      },
      receipt: async () => receipt(),
      cancel: async (requestId) => {
        this.takenBack.push(requestId);
        return receipt(this.outcome === "queued" ? "cancelled" : this.outcome);
      },
      status: async () => this.status,
      [Symbol.asyncDispose]: async () => {},
    };
    const find = async (_: string, agent: string) => {
      if (this.failure !== undefined) throw this.failure;
      return agent === this.agent && this.isLive ? runtime : undefined;
    };
    return { kind: this.#kind, find, starter: this.starter, runner: this.runner };
  }
}
