import { NoRespondersError, RequestError } from "@nats-io/transport-node";
import { isObject, readJson, writeJson } from "../acp/json-text.ts";
import type { Bus } from "../nats/bus.ts";
import { isName, type LaneName, subjects } from "../nats/subjects.ts";
import type { Registry } from "./registry.ts";

/** `released`: it held the lane for the same agent and has given it up. `held`: for another agent. */
export type HolderAnswer = "released" | "held" | "not-held" | "gone" | "silent";

/** Asks another relay for a lane that the log says it holds; `silent` after `timeoutMs` without an answer. */
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
    if (err instanceof NoRespondersError) return "gone";
    return err instanceof RequestError && err.isNoResponders() ? "gone" : "silent";
  }
}

export interface InstanceCallsDeps {
  readonly bus: Bus;
  readonly registry: Registry;
  readonly instance: string;
  /** What `relay status` shows of this relay. */
  readonly status: () => object;
}

/** Answers other relays and operators until the signal. */
export async function answerInstanceCalls(deps: InstanceCallsDeps, signal: AbortSignal): Promise<void> {
  const { bus, instance, status } = deps;
  const own = bus.nc.subscribe(subjects.instance(instance), {
    callback: (err, msg) => {
      if (err) return;
      const respond = (answer: object) => msg.respond(writeJson(answer));
      releaseFor(deps.registry, msg.string()).then(respond, () => respond({ answer: "not-held" }));
    },
  });
  const all = bus.nc.subscribe(subjects.status, {
    callback: (err, msg) => {
      if (!err) msg.respond(writeJson(status()));
    },
  });
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  own.unsubscribe();
  all.unsubscribe();
}

async function releaseFor(registry: Registry, text: string): Promise<object> {
  const call = readJson(text);
  if (!isObject(call)) return { error: "no JSON object" };
  const { op, session_id: sessionId, role, agent_id: agentId } = call;
  if (op !== "release" || typeof sessionId !== "string" || typeof role !== "string") return { error: "unknown op" };
  if (!isName(sessionId) || !isName(role)) return { error: "bad name" };
  const entry = registry.byLane({ sessionId, role });
  if (entry === undefined) return { answer: "not-held" };
  if (entry.agentId !== agentId) return { answer: "held", agent_id: entry.agentId };
  await entry.supersede();
  return { answer: "released" };
}
