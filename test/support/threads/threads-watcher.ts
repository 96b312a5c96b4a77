import { createClient, type Transport } from "@connectrpc/connect";
import { ThreadsService, type WatchThreadsResponse } from "../../../internal/gen/threads/v1/threads_pb.ts";
import { abortOnExit } from "../../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../../internal/rpc/common/errors.ts";
import { eventually } from "../eventually.ts";

type Update = WatchThreadsResponse["update"];
type Case = NonNullable<Update["case"]>;
type ValueOf<C extends Case> = Extract<Update, { case: C }>["value"];

const WAIT_MS = 60_000;

/** A caller of WatchThreads, and all its updates. */
export class ThreadsWatcher implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #told: Update[] = [];
  /** The error of the stream's end; undefined: it ended without an error. */
  readonly ended: Promise<unknown>;

  constructor(transport: Transport, after: Readonly<Record<string, bigint>> = {}) {
    const client = createClient(ThreadsService, transport);
    const open = (signal: AbortSignal) => client.watchThreads({ after }, { signal });
    const read = async () => {
      for await (const { update } of abortOnExit(open, this.#stop.signal)) this.#told.push(update);
    };
    this.ended = read().catch((err: unknown) => domainErrorOf(err));
  }

  /** All updates of one kind, in order. */
  told<C extends Case>(kind: C): readonly ValueOf<C>[] {
    return this.#told.filter((one) => one.case === kind).map((one) => one.value as ValueOf<C>);
  }

  /** The kinds of updates, in order. */
  get kinds(): readonly (Case | undefined)[] {
    return this.#told.map((one) => one.case);
  }

  /** The texts of a thread's messages, in order of arrival. */
  texts(threadId: string): readonly string[] {
    return this.told("message")
      .filter((one) => one.threadId === threadId)
      .map(({ text }) => text);
  }

  /** All updates as one text, for searching. */
  get all(): string {
    return JSON.stringify(this.#told, (_, value) => (typeof value === "bigint" ? String(value) : value));
  }

  async until(what: string, is: () => boolean): Promise<void> {
    await eventually(what, is, WAIT_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.ended;
  }
}
