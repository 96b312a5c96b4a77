import type { JsonObject } from "@bufbuild/protobuf";
import type { Clock } from "../../internal/base/clock.ts";
import { DomainError, type ErrorKind, errorText } from "../../internal/base/errors.ts";
import { asObjects } from "../../internal/base/json-fields.ts";
import { answerTo, type Heard, type Part } from "../../internal/demo/conversation.ts";
import type { Outside } from "../../internal/demo/outside.ts";
import { findThreads, ThreadsClient } from "../../internal/threads/client/threads-client.ts";

type Env = Readonly<Record<string, string | undefined>>;
type ThreadsCall = (name: string, input: object, signal: AbortSignal) => Promise<JsonObject>;

const WAKE = /^\[threads w-/;
/** Two minutes in all: a killed database on a busy machine takes longer to return than an agent's turn. */
const TRIES = 240;
const AGAIN_MS = 500;
/** Refusals that repeating the call does not change. */
const FINAL: ReadonlySet<ErrorKind> = new Set([
  "invalid",
  "not-found",
  "already-exists",
  "precondition",
  "denied",
  "unimplemented",
]);

/** An agent that reads its threads when a wake is typed, answers as the script of its part says, and acknowledges. */
export class ThreadWork implements Outside {
  readonly #outside: Outside;
  readonly #part: Part;
  readonly #call: ThreadsCall;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #work: Promise<void> = Promise.resolve();

  constructor(
    outside: Outside,
    part: Part,
    { call, clock, signal }: { call: ThreadsCall; clock: Clock; signal: AbortSignal },
  ) {
    this.#outside = outside;
    this.#part = part;
    this.#call = call;
    this.#clock = clock;
    this.#signal = signal;
  }

  took(text: string, via: "direct" | "queue", at: number): void {
    this.#outside.took(text, via, at);
    if (WAKE.test(text)) this.#work = this.#work.then(() => this.#answerAll()).catch(() => {});
  }

  tool(text: string): void {
    this.#outside.tool(text);
  }

  hook(line: Parameters<Outside["hook"]>[0]): void {
    this.#outside.hook(line);
  }

  async #answerAll(): Promise<void> {
    const { messages } = await this.#retried("read_messages", { limit: 200 });
    for (const message of asObjects(messages) as unknown as readonly Heard[]) {
      for (const said of answerTo(this.#part, message)) {
        this.#outside.tool(`post_message ${said.event_type ?? "chat"}`);
        await this.#retried("post_message", said);
      }
      await this.#retried("ack_read", { thread_id: message.thread_id, seq: message.seq });
    }
  }

  /**
   * Repeats a call that fails: each post has a key, so it is stored once. Reading again instead would lose the second
   * answer to a message, since the first one acknowledges the message.
   */
  async #retried(name: string, input: object): Promise<JsonObject> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#call(name, input, this.#signal);
      } catch (err) {
        this.#outside.tool(`threads: ${errorText(err)}`);
        const isFinal = err instanceof DomainError && FINAL.has(err.kind);
        if (isFinal || attempt === TRIES) throw err;
        await this.#clock.sleep(AGAIN_MS, this.#signal);
      }
    }
  }
}

/** Looks the server up for each call, because a local one may have restarted on another port. */
export function threadsCall(env: Env, clock: Clock): ThreadsCall {
  return async (name, input, signal) => {
    using client = new ThreadsClient(findThreads(env, clock, {}));
    return await client.call(name, input, signal);
  };
}
