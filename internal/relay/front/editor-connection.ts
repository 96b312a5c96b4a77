import { DomainError } from "../../base/errors.ts";
import { errorFrame, METHOD_NOT_FOUND } from "../acp/json-rpc.ts";
import { type ExactJson, isObject, type JsonObject, member, RECORD_DEPTH, readJson } from "../acp/json-text.ts";
import { RpcCalls } from "../acp/rpc-calls.ts";
import { askReplay } from "../lanes/instance-calls.ts";
import { readLane } from "../lanes/lane-claim.ts";
import type { LaneDeps } from "../lanes/lane-deps.ts";
import { progressPlaceIn } from "../lanes/progress.ts";
import { LaneLog } from "../nats/lane-log.ts";
import type { ProgressPlace, ReplayGap } from "../nats/progress-rings.ts";
import type { LaneName } from "../nats/subjects.ts";
import { type EditorAnswer, FAILED } from "./editor-answer.ts";
import { EditorOutput, type EditorStream } from "./editor-output.ts";
import { EditorTurn } from "./editor-turn.ts";
import { FollowedLane } from "./followed-lane.ts";
import { type FrontPlace, laneOfNew, laneOfSession, sessionOfLane } from "./front-place.ts";

export type EditorDeps = Pick<LaneDeps, "bus" | "clock" | "logger">;

export interface EditorOptions {
  readonly relayId: string;
  /** The longest prompt as a work message, in bytes. */
  readonly maxMessageBytes: number;
}

/** The most open sessions of one connection. */
const MOST_SESSIONS = 64;
/** The most unanswered requests of one connection: a prompt for each session, and some more. */
const MOST_CALLS = 96;
const CODES: Readonly<Record<string, number>> = {
  invalid: -32602,
  "not-found": -32002,
  unimplemented: METHOD_NOT_FOUND,
};

/** An editor's connection. The relay is its ACP agent, and its sessions are lanes. */
export class EditorConnection {
  readonly #deps: EditorDeps;
  readonly #options: EditorOptions;
  readonly #place: FrontPlace;
  readonly #output: EditorOutput;
  readonly #calls: RpcCalls;
  readonly #left = new AbortController();
  /** Open sessions by ACP session id. */
  readonly #sessions = new Map<string, FollowedLane>();
  readonly #turns = new Map<string, EditorTurn>();
  #isReady = false;
  #open = 0;

  constructor(deps: EditorDeps, options: EditorOptions, place: FrontPlace, output: EditorOutput) {
    this.#deps = deps;
    this.#options = options;
    this.#place = place;
    this.#output = output;
    this.#calls = new RpcCalls((text) => output.send(readJson(text, RECORD_DEPTH) as JsonObject, text.length));
  }

  /** Serves until the editor leaves. Work that it has published is done nevertheless. */
  static async serve(deps: EditorDeps, options: EditorOptions, place: FrontPlace, stream: EditorStream): Promise<void> {
    const output = new EditorOutput(stream.writable);
    const connection = new EditorConnection(deps, options, place, output);
    try {
      for await (const message of stream.readable) connection.#came(message as unknown as JsonObject); // parsed JSON
    } catch {
      // The editor is gone.
    } finally {
      connection.#left.abort(new DomainError("cancelled", "the editor has left"));
      await output.close();
    }
  }

  #came(message: JsonObject): void {
    const [id, method] = [member(message, "id"), member(message, "method")];
    if (typeof method !== "string") {
      this.#settle(message, id);
      return;
    }
    const params = member(message, "params");
    const given = isObject(params) ? params : {};
    if (id === undefined) {
      if (method === "session/cancel") this.#turns.get(String(given["sessionId"]))?.cancel();
      return;
    }
    if (typeof id !== "string" && typeof id !== "number") {
      this.#output.send(readJson(errorFrame(null, -32600, "an id is a string or a number")) as JsonObject);
      return;
    }
    this.#open++;
    this.#answer(method, given)
      .then(
        (result) => this.#output.send({ jsonrpc: "2.0", id, ...result }),
        (err: unknown) => this.#fail(id, method, err),
      )
      .finally(() => this.#open--);
  }

  #settle(message: JsonObject, id: ExactJson | undefined): void {
    if (typeof id !== "number") return;
    const [result, error] = [member(message, "result"), member(message, "error")];
    if (error !== undefined) this.#calls.settle({ type: "error", id, error });
    else this.#calls.settle({ type: "result", id, result: result ?? null });
  }

  #fail(id: string | number, method: string, err: unknown): void {
    if (this.#left.signal.aborted) return;
    if (!(err instanceof DomainError)) {
      this.#deps.logger.error({ action: "editor_failed", method: method.slice(0, 64), err }, "an editor's call failed");
    }
    const code = err instanceof DomainError ? (CODES[err.kind] ?? FAILED) : -32603;
    const text = errorFrame(id, code, err instanceof DomainError ? err.message : "internal error");
    this.#output.send(readJson(text) as JsonObject);
  }

  async #answer(
    method: string,
    params: JsonObject,
  ): Promise<{ readonly result: ExactJson } | { readonly error: ExactJson }> {
    if (method === "initialize") {
      this.#isReady = true;
      return { result: this.#capabilities() };
    }
    if (!this.#isReady) throw new DomainError("precondition", "initialize comes first");
    if (this.#open > MOST_CALLS) throw new DomainError("exhausted", `at most ${MOST_CALLS} requests at a time`);
    switch (method) {
      case "authenticate":
        return { result: {} };
      case "session/new":
        return { result: await this.#new(params) };
      case "session/load":
        return { result: await this.#load(params) };
      case "session/prompt":
        return await this.#prompt(params);
      default:
        throw new DomainError("unimplemented", `${method.slice(0, 64)} is not known here`);
    }
  }

  #capabilities(): JsonObject {
    return {
      protocolVersion: 1,
      agentCapabilities: { loadSession: true, promptCapabilities: { image: true, audio: true, embeddedContext: true } },
      agentInfo: { name: "gastown-relay", title: "Gas Town relay", version: "1" },
      authMethods: [],
      _meta: { relay: { relay_id: this.#options.relayId } },
    };
  }

  async #new(params: JsonObject): Promise<JsonObject> {
    const lane = laneOfNew(this.#place, params);
    const session = await this.#follow(lane);
    session.continues = false;
    return { sessionId: sessionOfLane(lane), ...ignored(params) };
  }

  async #load(params: JsonObject): Promise<JsonObject> {
    const { bus, clock } = this.#deps;
    const lane = laneOfSession(this.#place, params["sessionId"]);
    const { generation, holder, done } = await readLane(new LaneLog(bus, clock, lane)).catch((err: unknown) => {
      throw new DomainError("unavailable", "NATS does not answer", { cause: err });
    });
    const session = await this.#follow(lane);
    if (session.isBusy) throw new DomainError("precondition", "a prompt of this session is open");
    session.hold();
    const kept = generation === 0 ? undefined : await askReplay(bus, holder?.instance, lane, placeIn(params));
    const bodies = (kept?.["bodies"] ?? []) as readonly ExactJson[];
    const gap = (kept?.["gap"] ?? undefined) as ReplayGap | undefined;
    const prompts = Number(kept?.["prompts"] ?? 0);
    if (gap !== undefined) session.missing(gap);
    const isMissing = gap === undefined && placeIn(params) === undefined && done.size > prompts;
    if (isMissing) session.update(notKept(done.size - prompts), { missing_works: done.size - prompts });
    session.show(bodies);
    session.continues = generation > 0;
    const { last } = session;
    const relay = {
      epoch: last?.epoch,
      seq: last?.seq,
      gaps: gap === undefined ? [] : [{ epoch: gap.epoch, first: gap.first, to: gap.to }],
      missing_works: isMissing ? done.size - prompts : undefined,
    };
    return { ...ignored(params, relay) };
  }

  async #follow(lane: LaneName): Promise<FollowedLane> {
    const id = sessionOfLane(lane);
    const known = this.#sessions.get(id);
    if (known !== undefined) return known;
    if (this.#sessions.size >= MOST_SESSIONS) throw new DomainError("exhausted", `at most ${MOST_SESSIONS} sessions`);
    if (!this.#deps.bus.isConnected) throw new DomainError("unavailable", "NATS is away");
    const session = new FollowedLane(this.#deps.bus, lane, this.#output);
    this.#sessions.set(id, session);
    await session.follow(this.#left.signal).catch((err: unknown) => {
      this.#sessions.delete(id);
      throw new DomainError("unavailable", "NATS is away", { cause: err });
    });
    return session;
  }

  async #prompt(params: JsonObject): Promise<EditorAnswer["response"]> {
    const lane = laneOfSession(this.#place, params["sessionId"]);
    const id = sessionOfLane(lane);
    const session = this.#sessions.get(id);
    if (session === undefined) throw new DomainError("not-found", "no such session: session/new or session/load first");
    if (session.isBusy) throw new DomainError("precondition", "a prompt of this session is open");
    const meta = member(params, "_meta");
    const traceparent = isObject(meta) ? member(meta, "traceparent") : undefined;
    const deps = { ...this.#deps, calls: this.#calls };
    const turn = new EditorTurn(deps, session, params["prompt"], traceparent, this.#options.maxMessageBytes);
    session.isBusy = true;
    this.#turns.set(id, turn);
    try {
      const { updates, response } = await turn.run(this.#left.signal);
      session.reportDropped();
      for (const update of updates) session.update(update);
      return response;
    } finally {
      session.isBusy = false;
      this.#turns.delete(id);
    }
  }
}

/**
 * Names the given parameters that the relay ignores: its configuration decides where a role's agents work, and with
 * which servers.
 */
function ignored(params: JsonObject, relay: JsonObject = {}): JsonObject {
  const servers = member(params, "mcpServers");
  const names = [
    ...(typeof member(params, "cwd") === "string" ? ["cwd"] : []),
    ...(Array.isArray(servers) && servers.length > 0 ? ["mcpServers"] : []),
  ];
  return { _meta: { relay: { ...relay, ignored: names } } };
}

/** The update after which the editor continues: `_meta.relay {epoch, seq}`. */
function placeIn(params: JsonObject): ProgressPlace | undefined {
  const meta = member(params, "_meta");
  return progressPlaceIn(isObject(meta) ? member(meta, "relay") : undefined);
}

function notKept(works: number): JsonObject {
  const text = `[relay: ${works} earlier ${works === 1 ? "turn is" : "turns are"} not kept]`;
  return { sessionUpdate: "agent_thought_chunk", content: { type: "text", text } };
}
