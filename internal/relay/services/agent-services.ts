import { randomUUID } from "node:crypto";
import type { Msg } from "@nats-io/transport-node";
import { DomainError, errorText } from "../../base/errors.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import { type JsonObject, writeJson } from "../acp/json-text.ts";
import type { AskedWorkDeps } from "../front/asked-work.ts";
import { type KeepSubscribedDeps, keepSubscribed } from "../nats/keep-subscribed.ts";
import { publishPlain, replyTo } from "../nats/publish.ts";
import type { Signers } from "../nats/signing.ts";
import { laneKey } from "../nats/subjects.ts";
import { HEARTBEAT_S, LaneService, type ServiceVerb } from "./lane-service.ts";
import { isOfServices, SERVICE, type ServedAgent } from "./service-names.ts";
import { ServicePrompt } from "./service-prompt.ts";
import { ServiceReplies } from "./service-replies.ts";

export interface AgentServicesDeps extends AskedWorkDeps, KeepSubscribedDeps {
  /** Signers of prompts; undefined: prompts need no signature. */
  readonly signers: Signers | undefined;
}

export interface AgentServicesOptions {
  readonly version: string;
  /** The longest work message, in bytes. */
  readonly maxMessageBytes: number;
  /** How long a caller is kept informed, ms. */
  readonly longestMs: number;
}

const VERBS: readonly ServiceVerb[] = ["PING", "INFO", "STATS"];
/** The most open prompts: of all lanes together, and of one lane. */
const MOST_PROMPTS = 256;
const MOST_OF_LANE = 16;
const MAX_ID = 256;
/** Stands for an agent in a subscription that only tests whether NATS permits the subscriptions of agents. */
const NO_ONE = "relay.none";

/**
 * Offers each agent that holds a lane as a service of NATS by the agent protocol, version 0.3: callers find it, prompt
 * it and answer its questions. A prompt becomes work of the lane, so it is done once whichever process dies.
 */
export class AgentServices implements Task {
  readonly #deps: AgentServicesDeps;
  readonly #options: AgentServicesOptions;
  /** Open services, and the controllers that end their subscriptions. */
  readonly #services = new Map<LaneService, AbortController>();
  /** Open prompts, and the keys of their lanes. */
  readonly #prompts = new Map<Promise<unknown>, string>();
  readonly #ended = new AbortController();

  constructor(deps: AgentServicesDeps, options: AgentServicesOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Offers an agent until the returned function is called. */
  opened(agent: ServedAgent): () => void {
    const { bus, clock } = this.#deps;
    const { version, maxMessageBytes } = this.#options;
    const service = new LaneService(agent, version, Math.min(maxMessageBytes, bus.maxPayload), clock.now());
    const over = new AbortController();
    this.#services.set(service, over);
    const { prompt, status } = service.subjects;
    this.#offer(prompt, SERVICE, (message) => this.#prompted(service, message), over.signal);
    this.#offer(status, SERVICE, (message) => this.#asked(service, message), over.signal);
    for (const verb of VERBS) {
      const onMessage = (message: Msg) => this.#reply(message, service.answer(verb));
      this.#offer(`$SRV.${verb}.${SERVICE}.${service.id}`, undefined, onMessage, over.signal);
    }
    this.#beat(service);
    return () => {
      this.#services.delete(service);
      over.abort(new Error("the agent has left the lane"));
    };
  }

  /**
   * Answers requests that discover services, and sends heartbeats, until the signal.
   * @throws DomainError `denied` if NATS refuses a subscription
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const of = (verb: ServiceVerb) => (message: Msg) => {
      for (const service of this.#services.keys()) this.#reply(message, service.answer(verb));
    };
    const subjects = VERBS.flatMap((verb) => [
      { subject: `$SRV.${verb}`, onMessage: of(verb) },
      { subject: `$SRV.${verb}.${SERVICE}`, onMessage: of(verb) },
    ]);
    const tried = ["prompt", "status", "query"].map((verb) => ({
      subject: `${SERVICE}.${verb}.${NO_ONE}.none`,
      onMessage: () => {},
    }));
    const beats = async (stop: AbortSignal) => {
      while (!stop.aborted) {
        await clock.sleep(HEARTBEAT_S * 1000, stop);
        for (const service of this.#services.keys()) this.#beat(service);
      }
    };
    const kept = [...subjects, ...tried].map((each) => ({
      run: (stop: AbortSignal) => keepSubscribed(this.#deps, each, stop),
    }));
    await runTasks(signal, [{ run: beats }, ...kept]);
  }

  /** Ends the answers to open prompts. The work goes on. */
  async close(): Promise<void> {
    this.#ended.abort(new DomainError("unavailable", "the relay is shutting down; the work goes on"));
    await Promise.all(this.#prompts.keys());
    await this.#deps.bus.nc.flush().catch(() => {}); // NATS is away
  }

  #offer(subject: string, queue: string | undefined, onMessage: (message: Msg) => void, signal: AbortSignal): void {
    const subscribed = { subject, onMessage, queue };
    keepSubscribed(this.#deps, subscribed, signal).catch((err: unknown) => {
      this.#deps.logger.error({ action: "nats_refuses", subject, err: errorText(err) }, "an agent is not offered");
    });
  }

  #beat(service: LaneService): void {
    const { bus, clock } = this.#deps;
    if (!bus.isConnected) return;
    publishPlain(bus, { subject: service.subjects.heartbeat, body: writeJson(service.heartbeat(clock.now())) });
  }

  #asked(service: LaneService, message: Msg): void {
    service.counted.status.requests++;
    this.#reply(message, service.heartbeat(this.#deps.clock.now()));
  }

  #prompted(service: LaneService, message: Msg): void {
    const { bus, signers, logger } = this.#deps;
    const { lane } = service.agent;
    const { reply, data, headers } = message;
    if (!reply || isOfServices(reply)) return; // no one would get the answer
    const counted = service.counted.prompt;
    counted.requests++;
    const replies = new ServiceReplies(bus, reply);
    const named = headers?.get("Nats-Msg-Id") ?? "";
    const refusal = this.#refusal(laneKey(lane), message, named);
    const id = named === "" ? randomUUID() : named;
    const fields = { session_id: lane.sessionId, role: lane.role, bytes: data.length };
    logger.info({ action: "prompted", ...fields, refusal }, "a prompt came");
    if (refusal !== undefined) {
      counted.errors++;
      replies.error(refusal.startsWith("too many") ? 500 : 400, refusal);
      replies.end();
      return;
    }
    const given = { lane, id, isNamed: named !== "", data, traceparent: headers?.get("traceparent") };
    const options = { ...this.#options, asks: signers === undefined };
    const prompt = new ServicePrompt(this.#deps, options, given, replies);
    const answered = prompt.run(this.#ended.signal).then((isAnswered) => {
      if (!isAnswered) counted.errors++;
      this.#prompts.delete(answered);
    });
    this.#prompts.set(answered, laneKey(lane));
  }

  #refusal(lane: string, message: Msg, id: string): string | undefined {
    if (id.length > MAX_ID) return `Nats-Msg-Id is up to ${MAX_ID} characters`;
    if (this.#deps.signers?.hasSigned(message) === false) return "unsigned";
    const ofLane = [...this.#prompts.values()].filter((each) => each === lane).length;
    const isFull = this.#prompts.size >= MOST_PROMPTS || ofLane >= MOST_OF_LANE;
    return isFull ? "too many prompts are open" : undefined;
  }

  #reply(message: Msg, body: JsonObject): void {
    if (message.reply && !isOfServices(message.reply)) replyTo(this.#deps.bus, message, writeJson(body));
  }
}
