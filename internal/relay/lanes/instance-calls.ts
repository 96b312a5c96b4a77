import { type Msg, NoRespondersError, RequestError } from "@nats-io/transport-node";
import { runTasks } from "../../base/task-group.ts";
import {
  type ExactJson,
  isList,
  isObject,
  type JsonObject,
  RECORD_DEPTH,
  readJson,
  writeJson,
} from "../acp/json-text.ts";
import type { Bus } from "../nats/bus.ts";
import { type KeepSubscribedDeps, keepSubscribed } from "../nats/keep-subscribed.ts";
import type { ProgressPlace, ProgressRings } from "../nats/progress-rings.ts";
import { isName, type LaneName, subjects } from "../nats/subjects.ts";
import { progressPlaceIn } from "./progress.ts";
import type { Registry } from "./registry.ts";

/**
 * `released`: the relay held the lane for the same agent and has given it up. `held`: it holds the lane for another
 * agent.
 */
export type HolderAnswer = "released" | "held" | "not-held" | "gone" | "silent";

/** Asks another relay for a lane that it holds according to the log; `silent` after `timeoutMs` without an answer. */
export async function askHolder(
  bus: Bus,
  instance: string,
  { lane, agentId }: { readonly lane: LaneName; readonly agentId: string },
  timeoutMs: number,
): Promise<HolderAnswer> {
  const body = writeJson({ op: "release", session_id: lane.sessionId, role: lane.role, agent_id: agentId });
  try {
    const answer = await bus.nc.request(subjects.instance(instance), body, { timeout: timeoutMs });
    const value = readJson(answer.string());
    const said = isObject(value) ? value["answer"] : undefined;
    return said === "released" || said === "held" || said === "not-held" ? said : "silent";
  } catch (err) {
    return isNoResponders(err) ? "gone" : "silent";
  }
}

/** The longest wait for the holder of a lane to answer a control message. */
const CONTROL_MS = 10_000;

/**
 * Forwards a control message to the relay that holds the lane, and returns the answer. `not-held`: that relay does not
 * hold the lane, or is gone; `silent`: it did not answer in time.
 */
export async function forwardControl(
  bus: Bus,
  instance: string,
  { sessionId, role }: LaneName,
  text: string,
): Promise<string | "not-held" | "silent"> {
  const body = writeJson({ op: "control", session_id: sessionId, role, body: text });
  try {
    const answer = await bus.nc.request(subjects.instance(instance), body, { timeout: CONTROL_MS });
    const value = readJson(answer.string());
    return isObject(value) && value["answer"] === "not-held" ? "not-held" : answer.string();
  } catch (err) {
    return isNoResponders(err) ? "not-held" : "silent";
  }
}

function isNoResponders(err: unknown): boolean {
  return err instanceof NoRespondersError || (err instanceof RequestError && err.isNoResponders());
}

export interface InstanceCallsDeps extends KeepSubscribedDeps {
  readonly registry: Registry;
  readonly instance: string;
  /** The status of this relay, for `relay status`. */
  readonly status: () => object;
  /** Answers a control message of a lane; undefined: this relay does not hold it. */
  readonly control: (lane: LaneName, text: string) => Promise<string | undefined>;
  /** The updates that are kept for replay. */
  readonly rings: Pick<ProgressRings, "read">;
}

/**
 * Answers other relays and operators until the signal.
 * @throws DomainError `denied` when NATS refuses a subscription
 */
export async function answerInstanceCalls(deps: InstanceCallsDeps, signal: AbortSignal): Promise<void> {
  const { instance, status } = deps;
  const onCall = (message: Msg) => {
    answerTo(deps, message.string()).then(
      (answer) => message.respond(answer),
      () => message.respond(NOT_HELD),
    );
  };
  const onStatus = (message: Msg) => {
    const call = readJson(message.string());
    if (!isObject(call) || call["op"] !== "replay") return void message.respond(writeJson(status()));
    const kept = replayFor(deps, call); // every relay is asked; those that keep nothing are silent
    if (kept !== undefined) message.respond(kept);
  };
  await runTasks(signal, [
    { run: (stop) => keepSubscribed(deps, { subject: subjects.instance(instance), onMessage: onCall }, stop) },
    { run: (stop) => keepSubscribed(deps, { subject: subjects.status, onMessage: onStatus }, stop) },
  ]);
}

const NOT_HELD = writeJson({ answer: "not-held" });

async function answerTo({ registry, control, rings }: InstanceCallsDeps, text: string): Promise<string> {
  const call = readJson(text);
  if (!isObject(call)) return writeJson({ error: "no JSON object" });
  const { op, session_id: sessionId, role, agent_id: agentId, body } = call;
  if (typeof sessionId !== "string" || typeof role !== "string" || !isName(sessionId) || !isName(role)) {
    return writeJson({ error: "bad name" });
  }
  const lane = { sessionId, role };
  if (op === "replay") return replayFor({ rings }, call) ?? NOT_HELD;
  if (op === "release") return writeJson(await releaseFor(registry, lane, agentId));
  if (op === "control" && typeof body === "string") return (await control(lane, body)) ?? NOT_HELD;
  return writeJson({ error: "unknown op" });
}

async function releaseFor(registry: Registry, lane: LaneName, agentId: ExactJson | undefined): Promise<object> {
  const entry = registry.byLane(lane);
  if (entry === undefined) return { answer: "not-held" };
  if (entry.agentId !== agentId) return { answer: "held", agent_id: entry.agentId };
  await entry.supersede();
  return { answer: "released" };
}

/** The longest wait if no relay holds the lane: all are asked, and those that keep nothing are silent. */
const REPLAY_MS = 3000;

/**
 * Asks `instance`, or all relays, for the updates of a lane after `after`. Undefined: none is kept, or no relay
 * answers.
 */
export async function askReplay(
  bus: Bus,
  instance: string | undefined,
  { sessionId, role }: LaneName,
  after: ProgressPlace | undefined,
): Promise<JsonObject | undefined> {
  const body = writeJson({ op: "replay", session_id: sessionId, role, after });
  const subject = instance === undefined ? subjects.status : subjects.instance(instance);
  try {
    const answer = await bus.nc.request(subject, body, { timeout: instance === undefined ? REPLAY_MS : CONTROL_MS });
    const value = readJson(answer.string(), RECORD_DEPTH);
    return isObject(value) && isList(value["bodies"]) ? value : undefined;
  } catch {
    return undefined;
  }
}

function replayFor({ rings }: Pick<InstanceCallsDeps, "rings">, call: JsonObject): string | undefined {
  const { session_id: sessionId, role, after } = call;
  if (typeof sessionId !== "string" || typeof role !== "string") return undefined;
  const kept = rings.read({ sessionId, role }, progressPlaceIn(after));
  if (kept === undefined) return undefined;
  const { bodies, prompts, gap } = kept;
  return `{"bodies":[${bodies.join()}],"prompts":${prompts},"gap":${writeJson(gap ?? null)}}`;
}
