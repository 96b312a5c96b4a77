import type { PubAck } from "@nats-io/jetstream";
import { JetStreamApiError } from "@nats-io/jetstream";
import { headers, InvalidArgumentError, type Msg, type MsgHdrs } from "@nats-io/transport-node";
import { backoffMs } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import { errorText } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Bus } from "./bus.ts";
import { notPermitted } from "./not-permitted.ts";
import { SIGNATURE, type Signable } from "./signing.ts";

export interface StoredMessage {
  readonly subject: string;
  readonly body: string | Uint8Array;
  /** `Nats-Msg-Id`: the stream drops a second message with the same id within its duplicate window. */
  readonly msgId?: string;
  readonly headers?: Readonly<Record<string, string>> | MsgHdrs;
}

const BACKOFF = { firstMs: 100, maxMs: 5000, factor: 2 };
const NO_RESPONDERS_RETRIES = 1;

/** A header block with these values. */
export function natsHeaders(values: Readonly<Record<string, string>> = {}): MsgHdrs {
  const block = headers();
  for (const [name, value] of Object.entries(values)) block.set(name, value);
  return block;
}

/**
 * Publishes a message until the stream has acknowledged it, with back-off; logs each failure. While the server does not
 * permit it, the subject counts among the bus's refusals.
 * @throws the signal's reason; or the error, if the message is at fault and another attempt would fail as well
 */
export async function publishStored(
  { bus, clock, logger }: { readonly bus: Bus; readonly clock: Clock; readonly logger: Logger },
  message: StoredMessage,
  signal: AbortSignal,
): Promise<PubAck> {
  const { subject } = message;
  try {
    for (let attempt = 0; ; attempt++) {
      await bus.connected(signal);
      try {
        return await publishOnce(bus, message);
      } catch (err) {
        if (isOfMessage(err)) throw err;
        bus.refuses(subject, notPermitted(err) !== undefined);
        const fields = { action: "publish_failed", subject, attempt, err: errorText(err) };
        logger.warn(fields, "a message could not be stored; trying again");
      }
      await clock.sleep(backoffMs(BACKOFF, attempt, Math.random), signal);
    }
  } finally {
    bus.refuses(subject, false);
  }
}

/** True if another attempt would fail as well. */
function isOfMessage(err: unknown): boolean {
  return err instanceof InvalidArgumentError || (err instanceof JetStreamApiError && err.status === 400);
}

/** Publishes a message once. @throws Error if there is no acknowledgement */
export function publishOnce(bus: Bus, message: StoredMessage): Promise<PubAck> {
  const { subject, body, msgId, headers: extra } = message;
  const block = extra === undefined ? undefined : isBlock(extra) ? extra : natsHeaders(extra);
  const signed = block?.has(SIGNATURE) ? block : signedBy(bus, message, block);
  return bus.js.publish(subject, body, {
    retries: NO_RESPONDERS_RETRIES,
    ...(msgId !== undefined && { msgID: msgId }),
    ...(signed && { headers: signed }),
  });
}

/** Publishes a message without an acknowledgement; signs it if the bus has a signer. */
export function publishPlain(bus: Bus, message: Signable, extra?: MsgHdrs): void {
  const block = signedBy(bus, message, extra);
  bus.nc.publish(message.subject, message.body, block && { headers: block });
}

/** Replies to a request with `publishPlain`. */
export function replyTo(bus: Bus, message: Msg, body: string): void {
  const { reply } = message;
  if (reply) publishPlain(bus, { subject: reply, body });
}

/** The header block, with a signature if the bus has a signer. */
function signedBy({ signer }: Bus, message: Signable, block?: MsgHdrs): MsgHdrs | undefined {
  if (signer === undefined) return block;
  const signed = block ?? headers();
  for (const [name, value] of Object.entries(signer.headersFor(message))) signed.set(name, value);
  return signed;
}

function isBlock(extra: Readonly<Record<string, string>> | MsgHdrs): extra is MsgHdrs {
  return typeof extra["keys"] === "function";
}
