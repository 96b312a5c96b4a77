import type { Msg } from "@nats-io/transport-node";
import { raceSignal, withTimeout } from "../../base/abort.ts";
import { DomainError } from "../../base/errors.ts";
import { chunkText } from "../acp/acp-turn.ts";
import { type ExactJson, isObject, member, RECORD_DEPTH, readJson } from "../acp/json-text.ts";
import { type AskedPermission, AskedWork, type AskedWorkDeps } from "../front/asked-work.ts";
import type { Bus } from "../nats/bus.ts";
import { type LaneName, subjects } from "../nats/subjects.ts";
import { readEnvelope, workOf } from "./prompt-envelope.ts";
import { answerOf } from "./service-answer.ts";
import { answerSubject } from "./service-names.ts";
import { optionOf, questionOf } from "./service-query.ts";
import type { ServiceReplies } from "./service-replies.ts";

export interface GivenPrompt {
  readonly lane: LaneName;
  /** The id of the work. */
  readonly id: string;
  /** True: the caller chose the id. */
  readonly isNamed: boolean;
  readonly data: Uint8Array;
  readonly traceparent: string | undefined;
}

export interface PromptOptions {
  /** The longest work message, in bytes. */
  readonly maxMessageBytes: number;
  /** False: the caller is not asked for permissions, since its answers cannot be signed; others decide. */
  readonly asks: boolean;
  /** How long a caller is kept informed, ms. */
  readonly longestMs: number;
}

const ACK_MS = 30_000;
/** The most text to send before the result, in UTF-16 units: it is kept, to be compared with the whole text. */
const MAX_SHOWN = 1024 * 1024;

/**
 * A prompt that came by the agent protocol: runs it as work of its lane, and sends messages to its caller meanwhile.
 */
export class ServicePrompt {
  readonly #deps: AskedWorkDeps;
  readonly #options: PromptOptions;
  readonly #given: GivenPrompt;
  readonly #replies: ServiceReplies;
  readonly #over = new AbortController();
  #shown = "";

  constructor(deps: AskedWorkDeps, options: PromptOptions, given: GivenPrompt, replies: ServiceReplies) {
    this.#deps = deps;
    this.#options = options;
    this.#given = given;
    this.#replies = replies;
  }

  /**
   * Answers the caller until the work has its result or the signal is aborted. False: the answer is an error. Never
   * rejects.
   */
  async run(signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#deps;
    const until = AbortSignal.any([signal, this.#over.signal]);
    try {
      const results = withTimeout(clock, this.#options.longestMs, "the work", this.#results(until));
      const { rest, failure } = answerOf(await results, this.#shown);
      this.#replies.text(rest);
      if (failure !== undefined) this.#replies.error(500, failure.message, failure.details);
      return failure === undefined;
    } catch (err) {
      const said = err instanceof DomainError ? err : undefined;
      if (said === undefined) this.#deps.logger.error({ action: "prompt_failed", err }, "a prompt failed");
      this.#replies.error(said?.kind === "invalid" ? 400 : 500, said?.message ?? "internal error", {
        id: this.#given.id,
      });
      return false;
    } finally {
      this.#over.abort(new Error("the prompt is answered"));
      this.#replies.end();
    }
  }

  async #results(signal: AbortSignal) {
    const { lane, id, isNamed, data, traceparent } = this.#given;
    const payload = workOf(readEnvelope(data));
    const prompt = { id, isNamed, payload, traceparent, maxBytes: this.#options.maxMessageBytes };
    const work = new AskedWork(this.#deps, lane, prompt, {
      name: "caller",
      stored: () => void this.#ack(signal).catch(() => {}), // rejects when the prompt has been answered
      permit: (permission, decided) => this.#ask(permission, decided),
    });
    this.#showUpdates(signal);
    return await work.run(signal);
  }

  async #ack(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#replies.ack(this.#given.id);
      await this.#deps.clock.sleep(ACK_MS, signal);
    }
  }

  /** Sends the agent's text as it comes, until the signal is aborted. */
  #showUpdates(signal: AbortSignal): void {
    const callback = (err: Error | null, message: Msg) => {
      const body = err === null ? readJson(message.string(), RECORD_DEPTH) : undefined;
      if (!isObject(body) || member(body, "id") !== this.#given.id) return;
      const update = member(body, "payload");
      const text = isObject(update) ? (chunkText(update) ?? "") : "";
      if (this.#shown.length + text.length > MAX_SHOWN) return; // the end of the text comes with the result
      this.#shown += text;
      this.#replies.text(text);
    };
    subscribe(this.#deps.bus, subjects.progress(this.#given.lane), callback, signal);
  }

  /** Asks the caller for a permission. Undefined: others decide. */
  async #ask(permission: AskedPermission, signal: AbortSignal): Promise<ExactJson | undefined> {
    if (!this.#options.asks) return undefined;
    const { bus } = this.#deps;
    const subject = answerSubject(this.#given.lane);
    const answered = Promise.withResolvers<ExactJson>();
    const over = new AbortController();
    const callback = (err: Error | null, { data }: Msg) => {
      if (err === null) answered.resolve(answerIn(data, permission.options));
    };
    subscribe(bus, subject, callback, AbortSignal.any([signal, over.signal]));
    try {
      await bus.nc.flush();
      this.#replies.query(permission.approvalId, subject, questionOf(permission));
      return await raceSignal(answered.promise, signal);
    } finally {
      over.abort(new Error("the caller has answered"));
    }
  }
}

function answerIn(data: Uint8Array, options: ExactJson): ExactJson {
  try {
    return optionOf(readEnvelope(data).text, options);
  } catch {
    return null;
  }
}

function subscribe(
  { nc }: Bus,
  subject: string,
  callback: (err: Error | null, message: Msg) => void,
  signal: AbortSignal,
): void {
  const subscription = nc.subscribe(subject, { callback });
  signal.addEventListener("abort", () => subscription.unsubscribe(), { once: true });
  if (signal.aborted) subscription.unsubscribe();
}
