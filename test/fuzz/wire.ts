import {
  type create,
  type DescMessage,
  fromBinary,
  fromJson,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { DomainError } from "../../internal/base/errors.ts";
import * as pb from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { TerminalService } from "../../internal/gen/gastown/v1/terminal_pb.ts";
import { checkedNudge } from "../../internal/session/nudge-request.ts";
import { respondRequestOf } from "../../internal/wire/dialog.ts";
import { nudgeRequestOf } from "../../internal/wire/nudge.ts";
import { watchRequestOf } from "../../internal/wire/watch.ts";
import { mutate } from "./mutate.ts";
import { oneOf, type Random, randomFrom } from "./random.ts";
import { sampleMessage } from "./sample-message.ts";

/** RPCs that end the agent, or may. */
const NOT_SENT: readonly string[] = [pb.SidecarService.method.stopAgent.name, pb.SidecarService.method.sendKeys.name];
const [FIRST, ...OTHERS] = [...pb.SidecarService.methods, ...TerminalService.methods]
  .filter(({ name, input }) => !NOT_SENT.includes(name) && input.fields.length > 0)
  .map((method) => request(`${method.parent.typeName}/${method.name}`, method.input));
if (FIRST === undefined) throw new Error("no RPC has a field in its request");

/** A request of each RPC, with every field set. `path`: the method's name in calls. */
export const REQUESTS = [FIRST, ...OTHERS] as const;

interface WireRequest {
  readonly path: string;
  readonly schema: DescMessage;
  readonly binary: Buffer;
  readonly json: Buffer;
}

function request(path: string, schema: DescMessage): WireRequest {
  const message = sampleMessage(schema);
  const json = Buffer.from(JSON.stringify(toJson(schema, message)));
  return { path, schema, binary: Buffer.from(toBinary(schema, message)), json };
}

/** A damaged request, as bytes and as JSON: it must be rejected as unreadable or invalid, or be within its limits. */
export function checkWire(seed: number): string | undefined {
  const random = randomFrom(seed);
  const wanted = oneOf(random, REQUESTS);
  for (const message of [fromBytes(wanted, random), fromText(wanted, random)]) {
    const wrong = message === undefined ? undefined : checkMessage(message);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** Undefined if it cannot be read: the server answers `invalid_argument` then. */
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
