import { ClosedConnectionError, RequestError, TimeoutError } from "@nats-io/transport-node";
import type { Clock } from "../../internal/base/clock.ts";
import { DomainError, errorText } from "../../internal/base/errors.ts";
import type { Output } from "../../internal/cli/output.ts";
import { Bus } from "../../internal/relay/nats/bus.ts";
import type { NatsFlags } from "./config.ts";
import { natsAuth } from "./nats-auth.ts";
import { openNats } from "./settings.ts";

/** The context of a command that prints. */
export interface Printing {
  readonly out: Output;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const FIRST_MS = 5000;
const GONE = [TimeoutError, RequestError, ClosedConnectionError];

/**
 * Runs `use` with a connection for one command, and closes it at the end.
 * @throws DomainError `unavailable` if NATS stops answering meanwhile
 */
export async function withBus<T>(
  flags: NatsFlags,
  { clock, signal }: Printing,
  use: (bus: Bus) => Promise<T>,
): Promise<T> {
  const { url, streamPrefix, credentials, signer } = openNats(flags);
  const options = { url, name: "relay-cli", streamPrefix, signer, firstMs: FIRST_MS, auth: natsAuth(url, credentials) };
  const bus = await Bus.open(clock, options, signal);
  try {
    return await use(bus);
  } catch (cause) {
    if (!GONE.some((kind) => cause instanceof kind)) throw cause;
    throw new DomainError("unavailable", `NATS does not answer: ${errorText(cause)}`, {
      fields: { hint: "what it had stored is kept: run the command again when it is back" },
      cause,
    });
  } finally {
    await bus.nc.close();
  }
}

/** @throws DomainError `unavailable` if the stream does not exist: no relay has served on this NATS */
export async function needStream(bus: Bus, name: string): Promise<void> {
  try {
    await bus.jsm.streams.info(name);
  } catch (cause) {
    throw new DomainError("unavailable", `NATS has no stream ${name}`, {
      fields: { hint: "a relay makes its streams when it first serves: start one, or name its --stream-prefix" },
      cause,
    });
  }
}
