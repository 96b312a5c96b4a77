import type { Msg, Subscription } from "@nats-io/transport-node";
import { raceSignal } from "../../base/abort.ts";
import { backoffMs } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Bus } from "./bus.ts";
import { notPermitted } from "./not-permitted.ts";
import { covers, isReserved } from "./subjects.ts";

export interface Subscribed {
  readonly subject: string;
  /** The queue group: one of its members gets each message. */
  readonly queue?: string | undefined;
  /** Called with each published message. Must not throw. */
  readonly onMessage: (message: Msg) => void;
}

export interface KeepSubscribedDeps {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
}

const BACKOFF = { firstMs: 250, maxMs: 5000, factor: 2 };

/**
 * Subscribes until the signal. If the server revokes the subscription later, because permissions have changed,
 * subscribes again with back-off; until that succeeds, the subject counts among the bus's refusals.
 * @throws DomainError `denied`, with the subject, if the server refuses the first subscription
 */
export async function keepSubscribed(
  deps: KeepSubscribedDeps,
  subscribed: Subscribed,
  signal: AbortSignal,
): Promise<void> {
  const { bus, clock, logger } = deps;
  const { subject } = subscribed;
  let wasAccepted = false;
  try {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await bus.connected(signal);
        await stand(bus, subscribed, signal, () => {
          [wasAccepted, failures] = [true, 0];
          bus.refuses(subject, false);
        });
      } catch (err) {
        if (signal.aborted) return;
        const denied = notPermitted(err);
        if (denied !== undefined && !wasAccepted) throw denied;
        if (denied !== undefined) {
          bus.refuses(subject, true);
          logger.error({ action: "nats_refuses", subject }, "NATS refuses a subscription; trying again");
        }
      }
      await clock.sleep(backoffMs(BACKOFF, failures, Math.random), signal).catch(() => {});
    }
  } finally {
    bus.refuses(subject, false);
  }
}

/** Subscribes once, until the signal. @throws Error if the server refuses the subscription */
async function stand(
  bus: Bus,
  { subject, queue, onMessage }: Subscribed,
  signal: AbortSignal,
  onAccepted: () => void,
): Promise<void> {
  const refused = Promise.withResolvers<never>();
  refused.promise.catch(() => {});
  const unlisten = bus.listenToViolations((violation) => {
    if (violation.operation === "subscription" && violation.subject === subject) refused.reject(violation);
  });
  const subscription: Subscription = bus.nc.subscribe(subject, {
    ...(queue !== undefined && { queue }),
    callback: (err, message) => {
      if (err !== null) refused.reject(err);
      else if (isPublished(subject, message)) onMessage(message);
    },
  });
  try {
    // The server answers in order: a refusal comes before the pong.
    await raceSignal(Promise.race([bus.nc.flush(), refused.promise]), signal);
    onAccepted();
    await raceSignal(refused.promise, signal);
  } finally {
    unlisten();
    subscription.unsubscribe();
  }
}

/**
 * False for a message that a stream has delivered here. A user without permission to publish here can cause that: a
 * stream delivers to the reply subject of a request, under the message's own subject. Also false for a message with a
 * reserved reply subject, where the answer would pass for a message of the relay.
 */
function isPublished(pattern: string, { subject, reply = "" }: Msg): boolean {
  return covers(pattern, subject) && !isReserved(reply);
}
