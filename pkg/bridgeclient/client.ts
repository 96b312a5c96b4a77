import { backgroundClock, systemClock } from "../../internal/base/clock.ts";
import { BridgeService } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { readCredentials } from "./auth.ts";
import { CredentialFiles } from "./credential-files.ts";
import type { EventsDeps } from "./events.ts";
import { Links } from "./links.ts";
import { type ClientOptions, type Settings, settingsOf } from "./options.ts";
import { once, RetryingCalls } from "./retrying-calls.ts";
import { BridgeRpcs } from "./rpcs.ts";
import { Session } from "./session.ts";

/** @internal */
interface ClientParts {
  readonly calls: RetryingCalls;
  readonly events: EventsDeps;
  /** Stops background work and cancels all calls. */
  readonly close: () => Promise<void>;
}

/** A client of one bridge. Call `close` at the end: an open connection keeps the program running for up to a minute. */
export class BridgeClient extends BridgeRpcs implements AsyncDisposable {
  readonly #parts: ClientParts;

  /** @internal */
  constructor(parts: ClientParts, settings: Settings) {
    super(parts, settings.timeouts);
    this.#parts = parts;
  }

  /** A handle for the session with this id, which need not exist yet. */
  session(id: string): Session {
    return new Session(this, id, this.#parts.events);
  }

  /** Cancels calls and streams (they fail with `canceled`) and closes the connections. */
  close(): Promise<void> {
    return this.#parts.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Creates a client of the bridge at `target`. It connects at the first call. Certificate, key, CA and signing key are
 * read now, and again when their files change.
 * @throws BridgeError `invalid_argument`, naming the option or file that cannot be used
 */
export function createClient(options: ClientOptions): BridgeClient {
  const settings = settingsOf(options);
  const credentials = readCredentials(settings.mtls, settings.jwt.privateKeyPath);
  const links = new Links(backgroundClock, settings, credentials);
  const closing = new AbortController();
  const onChanged = links.use.bind(links);
  const files = new CredentialFiles({ clock: backgroundClock, onChanged }, settings.mtls, settings.jwt, credentials);
  const following = files.run(closing.signal);
  const common = { clock: systemClock, random: Math.random, closed: closing.signal };
  const close = async () => {
    closing.abort();
    links[Symbol.dispose]();
    await following;
  };
  const calls = new RetryingCalls({ ...common, links }, settings);
  return new BridgeClient(
    { calls, events: eventsOf(calls, { ...common, backoff: settings.backoff }, settings), close },
    settings,
  );
}

function eventsOf(
  calls: RetryingCalls,
  common: Omit<EventsDeps, "open" | "ack">,
  { timeouts }: Pick<Settings, "timeouts">,
): EventsDeps {
  const { streamEvents, ackEvents } = BridgeService.method;
  const rules = { timeoutMs: timeouts.defaultMs, repeatable: true };
  return {
    ...common,
    open: (request, signal) => calls.stream(streamEvents, once(request), signal),
    ack: (request, signal) => calls.unary(ackEvents, request, rules, { signal }),
  };
}
