import { randomUUID } from "node:crypto";
import type { ExactJson, JsonObject } from "../acp/json-text.ts";
import { SERVICE, type ServedAgent, type ServiceSubjects, subjectsOf } from "./service-names.ts";

/** The version of the agent protocol. */
const PROTOCOL = "0.3";
/** The interval of heartbeats, in seconds. */
export const HEARTBEAT_S = 30;
const KIB = 1024;

interface Counted {
  requests: number;
  errors: number;
}

/** The kinds of requests that every service of NATS answers. */
export type ServiceVerb = "PING" | "INFO" | "STATS";

/** An agent that holds a lane, as a service of NATS. */
export class LaneService {
  readonly agent: ServedAgent;
  readonly id = randomUUID();
  readonly subjects: ServiceSubjects;
  readonly counted: Readonly<Record<"prompt" | "status", Counted>> = {
    prompt: { requests: 0, errors: 0 },
    status: { requests: 0, errors: 0 },
  };
  readonly #version: string;
  readonly #maxPayload: number;
  readonly #started: string;

  /** @param maxPayload the longest prompt, in bytes; `now`: ms since 1970 */
  constructor(agent: ServedAgent, version: string, maxPayload: number, now: number) {
    this.agent = agent;
    this.subjects = subjectsOf(agent);
    this.#version = version;
    this.#maxPayload = maxPayload;
    this.#started = new Date(now).toISOString();
  }

  answer(verb: ServiceVerb): JsonObject {
    const type = `io.nats.micro.v1.${verb.toLowerCase()}_response`;
    const common = { type, name: SERVICE, id: this.id, version: this.#version, metadata: this.#metadata() };
    if (verb === "PING") return common;
    if (verb === "STATS") return { ...common, started: this.#started, endpoints: this.#stats() };
    const { lane } = this.agent;
    return { ...common, description: `${lane.role} of ${lane.sessionId}`, endpoints: this.#endpoints() };
  }

  /** The heartbeat, and the answer to `status`. */
  heartbeat(now: number): JsonObject {
    const ts = `${new Date(now).toISOString().slice(0, 19)}Z`;
    return { ...this.#names(), instance_id: this.id, ts, interval_s: HEARTBEAT_S };
  }

  #names() {
    const { lane, agentId } = this.agent;
    return { agent: lane.role, owner: lane.sessionId, session: agentId };
  }

  #metadata(): JsonObject {
    return { ...this.#names(), protocol_version: PROTOCOL };
  }

  #endpoints(): readonly ExactJson[] {
    const metadata = { max_payload: `${Math.floor(this.#maxPayload / KIB)}KB`, attachments_ok: "true" };
    return [
      { name: "prompt", subject: this.subjects.prompt, queue_group: SERVICE, metadata },
      { name: "status", subject: this.subjects.status, queue_group: SERVICE, metadata: {} },
    ];
  }

  #stats(): readonly ExactJson[] {
    return (["prompt", "status"] as const).map((name) => {
      const { requests, errors } = this.counted[name];
      const times = { processing_time: 0, average_processing_time: 0 };
      const counts = { num_requests: requests, num_errors: errors, last_error: "" };
      return { name, subject: this.subjects[name], queue_group: SERVICE, ...counts, ...times };
    });
  }
}
