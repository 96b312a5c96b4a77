import type { Clock } from "../../internal/base/clock.ts";
import { asObjects } from "../../internal/base/json-fields.ts";
import { answerTo, type Heard, type Part } from "../../internal/demo/conversation.ts";
import type { Outside } from "../../internal/demo/outside.ts";
import { findThreads, ThreadsClient } from "../../internal/threads/client/threads-client.ts";

type Env = Readonly<Record<string, string | undefined>>;

const WAKE = /^\[threads w-/;
/** Two minutes in all: a killed database on a busy machine takes longer to return than an agent's turn. */
const TRIES = 240;
const AGAIN_MS = 500;

/** An agent that reads its threads when a wake is typed, answers as the script of its part says, and acknowledges. */
export class ThreadWork implements Outside {
  readonly #outside: Outside;
  readonly #part: Part;
  readonly #env: Env;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #work: Promise<void> = Promise.resolve();

  constructor(outside: Outside, part: Part, { env, clock, signal }: { env: Env; clock: Clock; signal: AbortSignal }) {
    this.#outside = outside;
    this.#part = part;
    this.#env = env;
    this.#clock = clock;
    this.#signal = signal;
  }

  took(text: string, via: "direct" | "queue", at: number): void {
    this.#outside.took(text, via, at);
    if (WAKE.test(text)) this.#work = this.#work.then(() => this.#answerAll());
  }

  tool(text: string): void {
    this.#outside.tool(text);
  }

  hook(line: Parameters<Outside["hook"]>[0]): void {
    this.#outside.hook(line);
  }

  /** Retries while the server is unavailable: every answer has a key, so none is posted twice. */
  async #answerAll(): Promise<void> {
    for (let attempt = 0; attempt < TRIES && !this.#signal.aborted; attempt++) {
      try {
        await this.#answerOnce();
        return;
      } catch (err) {
        this.#outside.tool(`threads: ${err instanceof Error ? err.message : String(err)}`);
        await this.#clock.sleep(AGAIN_MS, this.#signal).catch(() => {});
      }
    }
  }

  async #answerOnce(): Promise<void> {
    using client = new ThreadsClient(findThreads(this.#env, this.#clock, {}));
    const call = (name: string, input: object) => client.call(name, input, this.#signal);
    const heard = asObjects((await call("read_messages", { limit: 200 }))["messages"]) as unknown as readonly Heard[];
    for (const message of heard) {
      for (const said of answerTo(this.#part, message)) {
        this.#outside.tool(`post_message ${said.event_type ?? "chat"}`);
        await call("post_message", said);
      }
      await call("ack_read", { thread_id: message.thread_id, seq: message.seq });
    }
  }
}
