import { create, type DescMessage, fromBinary, fromJson, type Message, toBinary, toJson } from "@bufbuild/protobuf";
import { DomainError } from "../../internal/base/errors.ts";
import * as pb from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { SendInputRequestSchema } from "../../internal/gen/gastown/v1/terminal_pb.ts";
import { checkedNudge } from "../../internal/session/nudge-request.ts";
import { nudgeRequestOf, respondRequestOf, watchRequestOf } from "../../internal/wire/to-proto.ts";
import { mutate } from "./mutate.ts";
import { oneOf, type Random, randomFrom } from "./random.ts";

const NUDGE = {
  ...{ message: "hello", requestId: "r-1", mode: pb.NudgeMode.WAIT_IDLE, priority: pb.NudgePriority.URGENT },
  ...{ timeoutMs: 75_000n, ttlMs: 1000n, quietMs: 5n },
};

/** A request of each kind, with every field set. `path`: as callers name the method. */
export const REQUESTS = [
  request("gastown.v1.SidecarService/Peek", pb.SidecarPeekRequestSchema, { lines: 50, ansi: true, joinWrapped: true }),
  request("gastown.v1.SidecarService/Nudge", pb.SidecarNudgeRequestSchema, { ...NUDGE, sender: "ann" }),
  request("gastown.v1.SidecarService/GetNudge", pb.SidecarGetNudgeRequestSchema, { requestId: "r-1" }),
  request("gastown.v1.SidecarService/CancelNudge", pb.SidecarCancelNudgeRequestSchema, { requestId: "r-1" }),
  request("gastown.v1.SidecarService/Respond", pb.SidecarRespondRequestSchema, {
    dialogId: "0af3",
    choice: "1",
    text: "x",
  }),
  request("gastown.v1.SidecarService/WatchOutput", pb.SidecarWatchRequestSchema, {
    ...{ lines: 5, intervalMs: 10, mode: 2, epoch: "e", afterOffset: 7n, ansi: true },
  }),
  request("gastown.v1.SidecarService/StreamEvents", pb.SidecarStreamEventsRequestSchema, {
    ...{ afterSeq: 1n, subscriberId: "s", epoch: "e" },
  }),
  request("gastown.v1.SidecarService/AckEvents", pb.SidecarAckEventsRequestSchema, {
    subscriberId: "s",
    ackSeq: 3n,
    epoch: "e",
  }),
  request("gastown.v1.SidecarService/Attach", pb.SidecarAttachInputSchema, {
    input: { case: "hello", value: { cols: 80, rows: 24, readOnly: true, name: "ann" } },
  }),
  request("gastown.v1.TerminalService/SendInput", SendInputRequestSchema, {
    session: "claude",
    input: "hi",
    nudge: true,
  }),
] as const;

export interface WireRequest {
  readonly path: string;
  readonly schema: DescMessage;
  readonly binary: Buffer;
  readonly json: Buffer;
}

function request<D extends DescMessage>(path: string, schema: D, init: Parameters<typeof create<D>>[1]): WireRequest {
  const message = create(schema, init);
  const json = Buffer.from(JSON.stringify(toJson(schema, message)));
  return { path, schema, binary: Buffer.from(toBinary(schema, message)), json };
}

/**
 * A damaged request, as bytes and as JSON: it is refused as one that cannot be read or as invalid, or is within its
 * limits.
 */
export function checkWire(seed: number): string | undefined {
  const random = randomFrom(seed);
  const wanted = oneOf(random, REQUESTS);
  for (const message of [fromBytes(wanted, random), fromText(wanted, random)]) {
    const wrong = message === undefined ? undefined : checkMessage(message);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** Undefined when it cannot be read: the server answers `invalid_argument` then. */
function fromBytes({ schema, binary }: WireRequest, random: Random): Message | undefined {
  try {
    return fromBinary(schema, mutate(binary, random));
  } catch {
    return undefined;
  }
}

function fromText({ schema, json }: WireRequest, random: Random): Message | undefined {
  try {
    return fromJson(schema, JSON.parse(mutate(json, random).toString("utf8")));
  } catch {
    return undefined;
  }
}

function checkMessage(message: Message): string | undefined {
  try {
    return withinLimits(message);
  } catch (err) {
    if (err instanceof DomainError && err.kind === "invalid") return undefined;
    return `${message.$typeName} ends with ${String(err)}`;
  }
}

function withinLimits(message: Message): string | undefined {
  if (is(message, pb.SidecarNudgeRequestSchema)) {
    const nudge = checkedNudge(nudgeRequestOf(message, { sender: "ann", owner: "ann" }), () => "made");
    const { timeoutMs, ttlMs, quietMs = -1 } = nudge;
    const times = [timeoutMs, ttlMs, quietMs];
    const isGood = times.every((ms) => Number.isFinite(ms) && ms >= 0 && ms <= 86_400_000);
    return isGood && nudge.message !== "" ? undefined : `took ${JSON.stringify(nudge)}`;
  }
  if (is(message, pb.SidecarWatchRequestSchema)) watchRequestOf(message);
  if (is(message, pb.SidecarRespondRequestSchema)) respondRequestOf(message);
  return undefined;
}

function is<D extends DescMessage>(message: Message, schema: D): message is ReturnType<typeof create<D>> {
  return message.$typeName === schema.typeName;
}
