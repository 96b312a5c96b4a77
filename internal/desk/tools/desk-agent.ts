import { randomUUID } from "node:crypto";
import { raceSignal } from "../../base/abort.ts";
import { DomainError } from "../../base/errors.ts";
import type { AgentEvent, Provider, SessionHandle } from "../../bridge/provider.ts";

/** How a session's agent is launched. */
export interface AgentLaunch {
  readonly id: string;
  /** The door that it may use, and its token for it; without one it has no tool. */
  readonly door?: { readonly url: string; readonly token: string };
}

/** The settings that all sessions of a half's agent share. */
export interface AgentSetting {
  /** A provider whose agent is offered the door's tool alone. */
  readonly providerOf: (launch: AgentLaunch) => Provider;
  /** Removes what was written for a launch, by its id. */
  readonly release: (id: string) => void;
  readonly options: Readonly<Record<string, string>>;
  /** An empty folder. */
  readonly cwd: string;
}

/** An answer beyond this ends its turn, characters; what is printed of tools counts too. */
const MAX_ANSWER = 262_144;

/** A turn that came to no answer; its agent takes the next message. */
export class FailedTurn extends Error {}

/** One running agent. */
export class DeskAgent implements AsyncDisposable {
  readonly #provider: Provider;
  readonly #handle: SessionHandle;
  readonly #release: () => void;
  #onEvent: (event: AgentEvent) => void = () => {};
  #hasEnded = false;

  private constructor(provider: Provider, handle: SessionHandle, release: () => void) {
    this.#provider = provider;
    this.#handle = handle;
    this.#release = release;
    void this.#follow();
  }

  /** Starts an agent that may use a door, or has no tool. @throws DomainError `unavailable` */
  static async start(setting: AgentSetting, door: AgentLaunch["door"], signal: AbortSignal): Promise<DeskAgent> {
    const { cwd, options } = setting;
    const id = randomUUID();
    const release = () => setting.release(id);
    try {
      const provider = setting.providerOf({ id, ...(door && { door }) });
      const handle = await provider.start({ project: "desk", sessionId: id, repoPath: cwd, cwd, options }, signal);
      return new DeskAgent(provider, handle, release);
    } catch (err) {
      release();
      throw err;
    }
  }

  /**
   * Gives it a message and waits for the turn's end; the model's words, or undefined if it had ended before. A message
   * begins with a line of ours: programs take what begins with `/` for a command.
   * @throws FailedTurn when the model refused or said nothing
   * @throws Error when the agent died or printed without an end
   */
  async say(text: string, signal: AbortSignal): Promise<string | undefined> {
    const ended = Promise.withResolvers<void>();
    ended.promise.catch(() => {}); // it may end before anything waits for it
    let words = "";
    let printed = 0;
    let hasBegun = false;
    this.#onEvent = (event) => {
      if (event.type === "output" && event.stream === "stdout") {
        words += event.text.slice(0, event.modelChars ?? 0);
        printed += event.text.length;
      }
      if (event.type === "phase" && event.state === "busy") hasBegun = true;
      if (event.type === "phase" && event.state === "idle" && hasBegun) {
        if (event.hasFailed) ended.reject(new FailedTurn("the turn has failed"));
        else ended.resolve();
      }
      if (event.type === "ended" || printed > MAX_ANSWER) ended.reject(new Error("the agent has ended"));
    };
    try {
      const { outcome, error } = await this.#provider.send(this.#handle, { text, requestId: randomUUID() }, signal);
      if (outcome === "agent-dead") {
        this.#hasEnded = true;
        return undefined;
      }
      if (outcome === "unsafe") throw new Error(error);
      // One that is not known to have taken it may be slow: the turn's end tells, or its limit.
      await raceSignal(ended.promise, signal);
      const answer = words.trim();
      if (answer === "") throw new FailedTurn("the turn has ended without a word");
      return answer;
    } finally {
      this.#onEvent = () => {};
    }
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#provider.stop(this.#handle, 0);
    this.#release();
  }

  async #follow(): Promise<void> {
    for await (const event of this.#provider.events(this.#handle)) this.#onEvent(event);
    this.#hasEnded = true;
  }
}

/**
 * Asks an agent one thing, in a session of its own without tools or history; the model's words.
 * @throws DomainError `unavailable`, with `reason` = `agent unavailable`
 */
export async function askOnce(setting: AgentSetting, text: string, signal: AbortSignal): Promise<string> {
  try {
    await using session = await DeskAgent.start(setting, undefined, signal);
    const answer = await session.say(text, signal);
    if (answer === undefined) throw new Error("the agent has ended");
    return answer;
  } catch (err) {
    throw signal.aborted ? err : agentUnavailable(err);
  }
}

/** Whatever is wrong with an agent. */
export function agentUnavailable(cause: unknown): DomainError {
  return new DomainError("unavailable", "agent unavailable", { fields: { reason: "agent unavailable" }, cause });
}
