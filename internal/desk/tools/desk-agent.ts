import { randomUUID } from "node:crypto";
import { raceSignal } from "../../base/abort.ts";
import { DomainError } from "../../base/errors.ts";
import type { AgentEvent, Provider, SessionHandle } from "../../bridge/provider.ts";

/** How a session's agent is launched. */
export interface AgentLaunch {
  readonly id: string;
  /** The door that the agent may use, with its token; absent: the agent has no tool. */
  readonly door?: { readonly url: string; readonly token: string } | undefined;
}

/** The settings that all sessions of a half's agent share. */
export interface AgentSetting {
  /** A provider whose agent has no tool but the door's. */
  readonly providerOf: (launch: AgentLaunch) => Provider;
  /** Removes the files of the launch with this id. */
  readonly release: (id: string) => void;
  readonly options: Readonly<Record<string, string>>;
  /** An empty folder. */
  readonly cwd: string;
}

/** The most characters that an agent may print in a turn, including the output of its tools. One more ends the turn. */
const MAX_ANSWER = 262_144;

/** The turn ended without an answer; the agent accepts the next message. */
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

  /** Starts an agent; without `door` it has no tool. @throws DomainError `unavailable` */
  static async start(setting: AgentSetting, door: AgentLaunch["door"], signal: AbortSignal): Promise<DeskAgent> {
    const { cwd, options } = setting;
    const id = randomUUID();
    const release = () => setting.release(id);
    try {
      const provider = setting.providerOf({ id, door });
      const handle = await provider.start({ project: "desk", sessionId: id, repoPath: cwd, cwd, options }, signal);
      return new DeskAgent(provider, handle, release);
    } catch (err) {
      release();
      throw err;
    }
  }

  /**
   * Sends a message and waits for the turn's end. Returns the model's words; undefined if the agent had ended before.
   * The message must begin with a line of ours, because programs take a message that begins with `/` for a command.
   * @throws FailedTurn when the model refused or said nothing
   * @throws Error when the agent died or printed more than `MAX_ANSWER`
   */
  async say(text: string, signal: AbortSignal): Promise<string | undefined> {
    const ended = Promise.withResolvers<void>();
    ended.promise.catch(() => {}); // the turn may end before anything waits for its end
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
      // An agent that has not confirmed the message may be slow, so only the turn's end or its limit decides.
      await raceSignal(ended.promise, signal);
      const answer = words.trim();
      if (answer === "") throw new FailedTurn("the turn has ended without a text");
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
 * Asks an agent one question, in a separate session without tools or history. Returns the model's words.
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

/** The error for any fault of an agent. */
export function agentUnavailable(cause: unknown): DomainError {
  return new DomainError("unavailable", "agent unavailable", { fields: { reason: "agent unavailable" }, cause });
}
