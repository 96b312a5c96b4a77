import { randomUUID } from "node:crypto";
import { JetStreamApiError, type PubAck } from "@nats-io/jetstream";
import { firstOf } from "../../base/abort.ts";
import { DomainError, errorText } from "../../base/errors.ts";
import { type ExactJson, isList, isObject, type JsonObject, member, readJson, writeJson } from "../acp/json-text.ts";
import { isRefusal, readWork } from "../acp/work-message.ts";
import { readLane } from "../lanes/lane-claim.ts";
import type { LaneDeps } from "../lanes/lane-deps.ts";
import { LaneLog } from "../nats/lane-log.ts";
import { natsHeaders, publishOnce, publishStored, type StoredMessage } from "../nats/publish.ts";
import type { ReadMessage } from "../nats/stream-reader.ts";
import { type LaneName, messageId, subjects } from "../nats/subjects.ts";
import { tailStream } from "../nats/tail-stream.ts";

export type AskedWorkDeps = Pick<LaneDeps, "bus" | "clock" | "logger">;

/** A permission that the agent requests for the work. */
export interface AskedPermission {
  readonly approvalId: string;
  readonly expiresAt: ExactJson;
  readonly toolCall: ExactJson;
  readonly options: ExactJson;
}

/** The caller that the work is done for. */
export interface WorkCaller {
  /** The name for `by` in decisions and in the request to cancel. */
  readonly name: string;
  /** Called once the stream has the work. */
  stored(): void;
  /**
   * Chooses an option of a permission. An id that was not offered refuses; undefined: others decide.
   * @param signal aborted when the permission is decided, or the work is over
   */
  permit(permission: AskedPermission, signal: AbortSignal): Promise<ExactJson | undefined>;
}

export interface AskedPrompt {
  readonly id: string;
  readonly payload: JsonObject;
  readonly traceparent: ExactJson | undefined;
  /** The longest work message, in bytes. */
  readonly maxBytes: number;
  /** True: the caller chose the id, so the work may have its result already. */
  readonly isNamed: boolean;
}

const PUBLISH_TRIES = 4;
const CONTROL_MS = 10_000;
const AGAIN_MS = 1000;

/** A prompt of a caller as a piece of work of a lane, from publication to result. */
export class AskedWork {
  readonly #deps: AskedWorkDeps;
  readonly #lane: LaneName;
  readonly #prompt: AskedPrompt;
  readonly #caller: WorkCaller;
  readonly #over = new AbortController();
  readonly #stored = Promise.withResolvers<void>();
  readonly #asking = new Map<string, AbortController>();
  #isCancelled = false;

  constructor(deps: AskedWorkDeps, lane: LaneName, prompt: AskedPrompt, caller: WorkCaller) {
    this.#deps = deps;
    this.#lane = lane;
    this.#prompt = prompt;
    this.#caller = caller;
    this.#stored.promise.catch(() => {}); // `run` throws the same error
  }

  /**
   * Publishes the work and waits for its results. The work is done even if the caller leaves.
   * @throws DomainError `invalid` for an invalid prompt; `exhausted` if too much work waits; `precondition` if the work
   * is rejected later; `unavailable`; the reason of `left`
   */
  async run(left: AbortSignal): Promise<readonly JsonObject[]> {
    const signal = AbortSignal.any([left, this.#over.signal]);
    try {
      const { message, hash } = this.#message();
      const { results, events, dead } = await this.#heads();
      const { duplicate } = await this.#publish(message, signal).catch((err: unknown) => {
        this.#stored.reject(err);
        throw err;
      });
      this.#stored.resolve();
      this.#caller.stored();
      this.#permits(events, signal).catch(() => {}); // other answers on the session's approvals decide
      const { isNamed } = this.#prompt;
      const found = await firstOf<[readonly JsonObject[], never]>(
        signal,
        (stop) => this.#results(isNamed ? 1 : results, stop),
        (stop) => this.#rejected(duplicate ? 1 : dead, stop),
      );
      if (isNamed) await this.#checkHash(hash);
      return found;
    } finally {
      this.#over.abort(new Error("the work is over"));
    }
  }

  /** Requests the end of the turn. */
  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#askToEnd().catch(() => {}); // the turn has already ended
  }

  #message(): { readonly message: StoredMessage; readonly hash: string } {
    const { sessionId, role } = this.#lane;
    const { id, payload, traceparent, maxBytes } = this.#prompt;
    const text = writeJson({ id, session_id: sessionId, type: `work.${role}`, payload });
    const work = readWork(Buffer.from(text), { ...this.#lane, maxBytes });
    if (isRefusal(work)) {
      const isLarge = work.reason === "too_large";
      throw new DomainError(
        "invalid",
        isLarge ? `a prompt is up to ${maxBytes} bytes` : "prompt is not a list of blocks",
      );
    }
    const headers = typeof traceparent === "string" && TRACEPARENT.test(traceparent) ? { traceparent } : {};
    const message = { subject: subjects.work(this.#lane), body: text, msgId: messageId(this.#lane, id), headers };
    return { message, hash: work.hash };
  }

  /** @throws DomainError `invalid` if the results are those of other work with this id */
  async #checkHash(hash: string): Promise<void> {
    const { bus, clock } = this.#deps;
    const { done, prompted } = await readLane(new LaneLog(bus, clock, this.#lane));
    const { id } = this.#prompt;
    const known = done.get(id) ?? (prompted?.id === id ? prompted.hash : hash);
    if (known !== hash) throw new DomainError("invalid", "id_reused: other work has this id");
  }

  /** The next sequences of the streams: messages about new work have these or higher ones. */
  async #heads() {
    const { jsm, streams } = this.#deps.bus;
    const head = async (stream: string) => (await jsm.streams.info(stream)).state.last_seq + 1;
    const [results, events, dead] = await Promise.all([streams.results, streams.events, streams.dead].map(head));
    return { results: results ?? 1, events: events ?? 1, dead: dead ?? 1 };
  }

  async #publish(message: StoredMessage, signal: AbortSignal): Promise<PubAck> {
    const { bus, clock } = this.#deps;
    for (let tries = 1; ; tries++) {
      try {
        return await publishOnce(bus, message);
      } catch (err) {
        if (err instanceof JetStreamApiError) {
          throw new DomainError("exhausted", `the work is not taken: ${err.message}`, { cause: err });
        }
        if (tries >= PUBLISH_TRIES) {
          throw new DomainError("unavailable", `NATS does not answer: ${errorText(err)}`, { cause: err });
        }
      }
      await clock.sleep(AGAIN_MS, signal);
    }
  }

  async #results(from: number, signal: AbortSignal): Promise<readonly JsonObject[]> {
    const found: JsonObject[] = [];
    for await (const body of this.#tail(this.#deps.bus.streams.results, subjects.results(this.#lane), from, signal)) {
      if (member(body, "id") !== this.#prompt.id) continue;
      found.push(body);
      const parts = member(body, "parts");
      if (found.length >= (typeof parts === "number" ? parts : 1)) return found;
    }
    throw signal.reason;
  }

  /** Rejects if the work becomes a dead letter, for example because it has expired. */
  async #rejected(from: number, signal: AbortSignal): Promise<never> {
    const { bus } = this.#deps;
    const dead = { stream: bus.streams.dead, subject: subjects.dead(this.#lane), from };
    for await (const message of tailStream(this.#deps, dead, signal)) {
      const body = bodyOf(message);
      if (body === undefined || member(body, "id") !== this.#prompt.id) continue;
      throw new DomainError("precondition", `the work is refused: ${message.headers?.get("Relay-Reason") ?? ""}`);
    }
    throw signal.reason;
  }

  /** Asks the caller for the permissions that the agent requests. */
  async #permits(from: number, signal: AbortSignal): Promise<void> {
    const { sessionId } = this.#lane;
    for await (const body of this.#tail(this.#deps.bus.streams.events, subjects.approvals(sessionId), from, signal)) {
      const payload = member(body, "payload");
      if (!isObject(payload)) continue;
      const approvalId = member(payload, "approval_id");
      if (typeof approvalId !== "string") continue;
      if (member(body, "type") !== "approval.requested") this.#asking.get(approvalId)?.abort(new Error("decided"));
      else if (member(payload, "work_id") === this.#prompt.id) void this.#ask(approvalId, payload, signal);
    }
  }

  async #ask(approvalId: string, request: JsonObject, signal: AbortSignal): Promise<void> {
    const decided = new AbortController();
    this.#asking.set(approvalId, decided);
    const stop = AbortSignal.any([signal, decided.signal]);
    const options = request["options"] ?? [];
    const [expiresAt, toolCall] = [request["expires_at"] ?? null, request["tool_call"] ?? null];
    try {
      const chosen = await this.#caller.permit({ approvalId, expiresAt, toolCall, options }, stop);
      if (chosen !== undefined) await this.#decide(approvalId, chosen, options, signal);
    } catch (err) {
      const { sessionId, role } = this.#lane;
      const fields = { session_id: sessionId, role, id: this.#prompt.id, err: errorText(err) };
      if (!stop.aborted) {
        await this.#decide(approvalId, null, options, signal).catch(() => {});
        this.#deps.logger.warn(
          { action: "caller_asked", by: this.#caller.name, ...fields },
          "no permission from the caller",
        );
      }
    } finally {
      this.#asking.delete(approvalId);
    }
  }

  async #decide(approvalId: string, chosen: ExactJson, options: ExactJson, signal: AbortSignal): Promise<void> {
    const option = isList(options) ? options.find((each) => isObject(each) && each["optionId"] === chosen) : undefined;
    const kind = isObject(option) ? option["kind"] : undefined;
    const isGranted = option !== undefined && !String(kind).startsWith("reject");
    const { sessionId } = this.#lane;
    const named = { option_id: option && chosen, by: this.#caller.name };
    const type = isGranted ? "approval.granted" : "approval.rejected";
    const body = writeJson({
      ...{ id: randomUUID(), session_id: sessionId, type },
      payload: { approval_id: approvalId, ...named },
    });
    await publishStored(this.#deps, { subject: subjects.approvals(sessionId), body }, signal);
  }

  async #askToEnd(): Promise<void> {
    const { bus, clock } = this.#deps;
    await this.#stored.promise;
    const subject = subjects.control(this.#lane);
    const body = writeJson({ id: this.#prompt.id, type: "cancel", payload: { by: this.#caller.name } });
    const headers = natsHeaders(bus.signer?.headersFor({ subject, body }));
    while (!this.#over.signal.aborted) {
      const answer = await bus.nc
        .request(subject, body, { timeout: CONTROL_MS, headers })
        .then((message) => readJson(message.string()))
        .catch(() => undefined);
      if (isObject(answer) && answer["type"] !== "control.error") return;
      await clock.sleep(AGAIN_MS, this.#over.signal);
    }
  }

  async *#tail(stream: string, subject: string, from: number, signal: AbortSignal): AsyncGenerator<JsonObject> {
    for await (const message of tailStream(this.#deps, { stream, subject, from }, signal)) {
      const body = bodyOf(message);
      if (body !== undefined) yield body;
    }
  }
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

function bodyOf({ data }: ReadMessage): JsonObject | undefined {
  const value = readJson(new TextDecoder().decode(data), 200);
  return isObject(value) ? value : undefined;
}
