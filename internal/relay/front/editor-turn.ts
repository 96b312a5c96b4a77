import { randomUUID } from "node:crypto";
import { JetStreamApiError } from "@nats-io/jetstream";
import { DomainError, errorText } from "../../base/errors.ts";
import { METHOD_NOT_FOUND } from "../acp/json-rpc.ts";
import { isList, isObject, type Json, type JsonObject, member, readJson, writeJson } from "../acp/json-text.ts";
import { type RpcCalls, RpcFailure } from "../acp/rpc-calls.ts";
import { isRefusal, readWork } from "../acp/work-message.ts";
import type { LaneDeps } from "../lanes/lane-deps.ts";
import { headersOf, publishOnce, publishStored, type StoredMessage } from "../nats/publish.ts";
import type { ReadMessage } from "../nats/stream-reader.ts";
import { messageId, subjects } from "../nats/subjects.ts";
import { tailStream } from "../nats/tail-stream.ts";
import { answerOfResults, type EditorAnswer } from "./editor-answer.ts";
import type { FollowedLane } from "./followed-lane.ts";
import { sessionOfLane } from "./front-place.ts";

export interface EditorTurnDeps extends Pick<LaneDeps, "bus" | "clock" | "logger"> {
  /** Calls to the editor. */
  readonly calls: RpcCalls;
}

const PUBLISH_TRIES = 4;
const CONTROL_MS = 10_000;
const AGAIN_MS = 1000;
const BY = "editor";

/** A prompt of an editor: a piece of work of its lane, from publication to result. */
export class EditorTurn {
  readonly #deps: EditorTurnDeps;
  readonly #lane: FollowedLane;
  readonly #id = randomUUID();
  readonly #over = new AbortController();
  readonly #stored = Promise.withResolvers<void>();
  readonly #asking = new Map<string, AbortController>();
  #isCancelled = false;

  constructor(deps: EditorTurnDeps, lane: FollowedLane) {
    this.#deps = deps;
    this.#lane = lane;
    this.#stored.promise.catch(() => {}); // `run` throws the same error
  }

  /**
   * Publishes the prompt as work and waits for its result. The work is done even if the editor leaves.
   * @throws DomainError `invalid` for an invalid prompt; `exhausted` if too much work waits; `precondition` if the work
   * is rejected later; `unavailable`
   */
  async run(prompt: Json | undefined, traceparent: Json | undefined, maxBytes: number, left: AbortSignal) {
    const signal = AbortSignal.any([left, this.#over.signal]);
    try {
      const message = this.#message(prompt, traceparent, maxBytes);
      const { results, events, dead } = await this.#heads();
      this.#lane.note(this.#id);
      await this.#publish(message, signal).then(this.#stored.resolve, (err: unknown) => {
        this.#stored.reject(err);
        throw err;
      });
      this.#lane.continues = true;
      this.#permits(events, signal).catch(() => {}); // other answers on the session's approvals decide
      return await Promise.race([this.#result(results, signal), this.#rejected(dead, signal)]);
    } finally {
      this.#over.abort(new Error("the turn is over"));
    }
  }

  /** Requests the end of the turn. */
  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#askToEnd().catch(() => {}); // the turn has already ended
  }

  #message(prompt: Json | undefined, traceparent: Json | undefined, maxBytes: number): StoredMessage {
    const { lane, continues } = this.#lane;
    const payload = { prompt: prompt ?? null, ...(continues && { continue: true }) };
    const body = { id: this.#id, session_id: lane.sessionId, type: `work.${lane.role}`, payload };
    const text = writeJson(body);
    const work = readWork(Buffer.from(text), { ...lane, maxBytes });
    if (isRefusal(work)) {
      const isLarge = work.reason === "too_large";
      throw new DomainError("invalid", isLarge ? `a prompt is up to ${maxBytes} bytes` : "prompt is no list of blocks");
    }
    const headers = typeof traceparent === "string" && TRACEPARENT.test(traceparent) ? { traceparent } : {};
    return { subject: subjects.work(lane), body: text, msgId: messageId(lane, this.#id), headers };
  }

  /** The next sequences of the streams: everything about the work comes after. */
  async #heads() {
    const { jsm, streams } = this.#deps.bus;
    const head = async (stream: string) => (await jsm.streams.info(stream)).state.last_seq + 1;
    const [results, events, dead] = await Promise.all([streams.results, streams.events, streams.dead].map(head));
    return { results: results ?? 1, events: events ?? 1, dead: dead ?? 1 };
  }

  async #publish(message: StoredMessage, signal: AbortSignal): Promise<void> {
    const { bus, clock } = this.#deps;
    for (let tries = 1; ; tries++) {
      try {
        await publishOnce(bus, message);
        return;
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

  async #result(from: number, signal: AbortSignal): Promise<EditorAnswer> {
    const { lane } = this.#lane;
    const found: JsonObject[] = [];
    for await (const body of this.#tail(this.#deps.bus.streams.results, subjects.results(lane), from, signal)) {
      if (member(body, "id") !== this.#id) continue;
      found.push(body);
      const parts = member(body, "parts");
      if (found.length >= (typeof parts === "number" ? parts : 1)) return answerOfResults(found, this.#lane.shownText);
    }
    throw signal.reason;
  }

  /** Rejects if the work becomes a dead letter, for example because it has expired. */
  async #rejected(from: number, signal: AbortSignal): Promise<never> {
    const { bus } = this.#deps;
    const dead = { stream: bus.streams.dead, subject: subjects.dead(this.#lane.lane), from };
    for await (const message of tailStream(this.#deps, dead, signal)) {
      const body = bodyOf(message);
      if (body === undefined || member(body, "id") !== this.#id) continue;
      throw new DomainError("precondition", `the work is refused: ${message.headers?.get("Relay-Reason") ?? ""}`);
    }
    throw signal.reason;
  }

  /** Asks the editor for the permissions that the agent requests. */
  async #permits(from: number, signal: AbortSignal): Promise<void> {
    const { sessionId } = this.#lane.lane;
    for await (const body of this.#tail(this.#deps.bus.streams.events, subjects.approvals(sessionId), from, signal)) {
      const payload = member(body, "payload");
      if (!isObject(payload)) continue;
      const approvalId = member(payload, "approval_id");
      if (typeof approvalId !== "string") continue;
      if (member(body, "type") !== "approval.requested") this.#asking.get(approvalId)?.abort(new Error("decided"));
      else if (member(payload, "work_id") === this.#id) void this.#ask(approvalId, payload, signal);
    }
  }

  async #ask(approvalId: string, request: JsonObject, signal: AbortSignal): Promise<void> {
    const decided = new AbortController();
    this.#asking.set(approvalId, decided);
    const { calls, logger } = this.#deps;
    const { lane } = this.#lane;
    const relay = { approval_id: approvalId, expires_at: request["expires_at"] ?? null };
    const params = {
      ...{ sessionId: sessionOfLane(lane), toolCall: request["tool_call"] ?? null, options: request["options"] ?? [] },
      _meta: { relay },
    };
    const stop = AbortSignal.any([signal, decided.signal]);
    try {
      const answer = await calls.call("session/request_permission", params, stop);
      await this.#decide(approvalId, answer, request["options"], signal);
    } catch (err) {
      const cannot = err instanceof RpcFailure && isObject(err.error) && err.error["code"] === METHOD_NOT_FOUND;
      if (!stop.aborted && !cannot) await this.#decide(approvalId, {}, undefined, signal).catch(() => {});
      const fields = { session_id: lane.sessionId, role: lane.role, id: this.#id };
      if (!stop.aborted)
        logger.warn({ action: "editor_asked", ...fields, err: errorText(err) }, "no leave of the editor");
    } finally {
      this.#asking.delete(approvalId);
    }
  }

  async #decide(approvalId: string, answer: Json, options: Json | undefined, signal: AbortSignal): Promise<void> {
    const outcome = isObject(answer) ? member(answer, "outcome") : undefined;
    const optionId = isObject(outcome) && outcome["outcome"] === "selected" ? outcome["optionId"] : undefined;
    const option = isList(options)
      ? options.find((each) => isObject(each) && each["optionId"] === optionId)
      : undefined;
    const kind = isObject(option) ? option["kind"] : undefined;
    const isGranted = option !== undefined && !String(kind).startsWith("reject");
    const { sessionId } = this.#lane.lane;
    const payload = { approval_id: approvalId, ...(option !== undefined && { option_id: optionId }), by: BY };
    const type = isGranted ? "approval.granted" : "approval.rejected";
    const body = writeJson({ id: randomUUID(), session_id: sessionId, type, payload });
    await publishStored(this.#deps, { subject: subjects.approvals(sessionId), body }, signal);
  }

  async #askToEnd(): Promise<void> {
    const { bus, clock } = this.#deps;
    await this.#stored.promise;
    const subject = subjects.control(this.#lane.lane);
    const body = writeJson({ id: this.#id, type: "cancel", payload: { by: BY } });
    const headers = headersOf(bus.signer?.headersFor({ subject, body }));
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
