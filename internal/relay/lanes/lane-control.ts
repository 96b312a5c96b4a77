import type { Msg } from "@nats-io/transport-node";
import { errorText } from "../../base/errors.ts";
import type { Slots } from "../../base/slots.ts";
import {
  type ControlRefusal,
  type ControlRequest,
  controlError,
  controlReply,
  isControlRefusal,
  readControl,
} from "../acp/control-message.ts";
import { keepSubscribed } from "../nats/keep-subscribed.ts";
import { Fenced, LaneLog } from "../nats/lane-log.ts";
import { replyTo } from "../nats/publish.ts";
import { countQueued } from "../nats/queued-work.ts";
import { type LaneName, laneOfSubject, subjects } from "../nats/subjects.ts";
import type { HeldLane } from "./held-lane.ts";
import { forwardControl } from "./instance-calls.ts";
import { readLane } from "./lane-claim.ts";
import type { LaneDeps, LaneOptions } from "./lane-deps.ts";
import type { Lanes } from "./lanes.ts";
import { LaneHeld } from "./registry.ts";
import { findQueued, type UnservedLanes } from "./unserved-lanes.ts";

export interface LaneControlDeps extends LaneDeps {
  readonly lanes: Lanes;
  readonly unserved: UnservedLanes;
  /** Limits the messages that are answered concurrently. */
  readonly slots: Slots;
}

type Payload = Readonly<Record<string, unknown>>;

const MAX_BYTES = 64 * 1024;
/** The queue group of all relays: one of them gets each message. */
const QUEUE = "relay";
const UNAVAILABLE: ControlRefusal = { reason: "unavailable", error: "the lane is being handed over; try again" };
const UNSIGNED: ControlRefusal = { reason: "unsigned", error: "no accepted signer has signed the message" };

/** Answers `cancel`, `steer` and `status` for any lane, whichever relay holds it. */
export class LaneControl {
  readonly #deps: LaneControlDeps;
  readonly #options: LaneOptions;

  constructor(deps: LaneControlDeps, options: LaneOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Answers control messages until the signal. @throws DomainError `denied` if NATS refuses the subscription */
  async run(signal: AbortSignal): Promise<void> {
    const { slots, bus } = this.#deps;
    const onMessage = (message: Msg) => {
      slots
        .hold(() => this.#answer(message, signal), signal)
        .then(
          (reply) => replyTo(bus, message, reply),
          () => {}, // the relay is shutting down
        );
    };
    await keepSubscribed(this.#deps, { subject: subjects.allControl, queue: QUEUE, onMessage }, signal);
  }

  /** Answers for a lane that this relay holds; undefined: it does not hold the lane. */
  async answerHere(lane: LaneName, text: string, signal: AbortSignal): Promise<string | undefined> {
    const held = this.#deps.lanes.heldLane(lane);
    if (held === undefined) return undefined;
    const message = readControl(text, lane.sessionId);
    if (isControlRefusal(message)) return controlError(lane, message);
    return this.#reply(lane, message, () => this.#ofHeld(held, lane, message, signal));
  }

  async #answer(asked: Msg, signal: AbortSignal): Promise<string> {
    const { subject, data } = asked;
    const lane = laneOfSubject(subject);
    if (lane === undefined) {
      const [, sessionId = "", , role = ""] = subject.split(".");
      return controlError({ sessionId, role }, { reason: "invalid_message", error: "session and role are names" });
    }
    if (data.length > MAX_BYTES) {
      return controlError(lane, { reason: "too_large", error: `a message is up to ${MAX_BYTES} bytes` });
    }
    if (this.#deps.signers?.hasSigned(asked) === false) return controlError(lane, UNSIGNED);
    const text = new TextDecoder().decode(data);
    const message = readControl(text, lane.sessionId);
    if (isControlRefusal(message)) return controlError(lane, message);
    try {
      const here = await this.answerHere(lane, text, signal);
      return here ?? (await this.#elsewhere(lane, message, text, signal));
    } catch (err) {
      this.#deps.logger.warn({ action: "control_failed", err: errorText(err) }, "a control message is not answered");
      return controlError(lane, { reason: "unavailable", error: "NATS does not answer" });
    }
  }

  async #elsewhere(lane: LaneName, message: ControlRequest, text: string, signal: AbortSignal): Promise<string> {
    const { bus, clock, instance } = this.#deps;
    const { holder } = await readLane(new LaneLog(bus, clock, lane));
    if (holder !== undefined && holder.instance !== instance) {
      const answer = await forwardControl(bus, holder.instance, lane, text);
      if (answer === "silent") return controlError(lane, UNAVAILABLE);
      if (answer !== "not-held") return answer;
    }
    return this.#reply(lane, message, () => this.#ofUnserved(lane, message, signal));
  }

  async #reply(lane: LaneName, message: ControlRequest, act: () => Promise<Payload>): Promise<string> {
    const { logger } = this.#deps;
    const { sessionId: session_id, role } = lane;
    const fields = { session_id, role, control: message.type, id: message.id };
    try {
      const payload = await act();
      logger.info({ action: "control", ...fields, outcome: payload["outcome"] }, "a control message is answered");
      return controlReply(message, lane, payload);
    } catch (err) {
      logger.warn({ action: "control_failed", ...fields, err: errorText(err) }, "a control message is not answered");
      if (err instanceof LaneHeld || err instanceof Fenced) return controlError(lane, UNAVAILABLE);
      return controlError(lane, { reason: "unavailable", error: "the relay cannot do that now" });
    }
  }

  async #ofHeld(held: HeldLane, lane: LaneName, message: ControlRequest, signal: AbortSignal): Promise<Payload> {
    const { turn, link } = held;
    const { id } = message;
    switch (message.type) {
      case "cancel":
        return { outcome: await this.#cancel(held, lane, message.id, message.by, signal) };
      case "steer":
        if (turn?.asked !== true || (id !== undefined && id !== turn.work.id)) return { outcome: "idle" };
        return { outcome: (await link.steer?.(message.prompt, signal)) ?? "unsupported" };
      case "status": {
        const { agentId, dialect, connectionId } = link;
        const open = turn === undefined ? null : { id: turn.work.id, attempt: turn.attempt, asked: turn.asked };
        return {
          ...{ state: "held", agent_id: agentId, dialect, connection_id: connectionId, instance: this.#deps.instance },
          ...{ generation: held.generation, turn: open, queued: await countQueued(this.#deps.bus, lane) },
          work: id === undefined ? undefined : await this.#workState(lane, id, held.state),
        };
      }
    }
  }

  async #cancel(held: HeldLane, lane: LaneName, id: string, by: string, signal: AbortSignal): Promise<string> {
    const isOpen = held.turn?.work.id === id;
    if (!isOpen && !held.state.done.has(id)) {
      const queued = await findQueued(this.#deps, this.#options, lane, id);
      if (queued === undefined && !held.state.done.has(id)) return "unknown";
    }
    if (!(await held.cancel(id, by, signal))) return "done";
    return isOpen ? "cancelling" : "cancelled";
  }

  async #ofUnserved(lane: LaneName, message: ControlRequest, signal: AbortSignal): Promise<Payload> {
    const { unserved, bus, clock } = this.#deps;
    const { id } = message;
    switch (message.type) {
      case "cancel":
        return { outcome: await unserved.cancel(lane, message.id, message.by, signal) };
      case "steer":
        return { outcome: "idle" };
      case "status":
        return {
          ...{ state: "free", turn: null, queued: await countQueued(bus, lane) },
          work:
            id === undefined
              ? undefined
              : await this.#workState(lane, id, await readLane(new LaneLog(bus, clock, lane))),
        };
    }
  }

  /** The current state of a piece of work. */
  async #workState(lane: LaneName, id: string, state: HeldLane["state"]): Promise<string> {
    if (state.done.has(id) || state.answered?.id === id) return "done";
    if (this.#deps.lanes.heldLane(lane)?.turn?.work.id === id) return "open";
    const queued = await findQueued(this.#deps, this.#options, lane, id);
    if (queued === undefined) return "unknown";
    return state.cancelled.has(id) ? "cancelled" : "queued";
  }
}
