import type { Clock } from "../../internal/base/clock.ts";
import { ServerClock } from "../../internal/rpc/client/server-clock.ts";
import type { Credentials } from "./auth.ts";
import { clientClosed } from "./errors.ts";
import { Link } from "./link.ts";
import type { Settings } from "./options.ts";

/** Leaves room for unary calls if a server or proxy allows 100 HTTP/2 streams on a connection. */
const STREAMS_PER_LINK = 90;

/** The connections of one client. Calls share the first; a stream opens another when all are full. */
export class Links implements Disposable {
  readonly #clock: Clock;
  readonly #settings: Settings;
  #credentials: Credentials;
  #open: Link[] = [];
  readonly #retired = new Set<Link>();
  #closed = false;
  /** The bridge's clock as estimated from its responses. */
  readonly server: ServerClock;

  constructor(clock: Clock, settings: Settings, credentials: Credentials) {
    this.#clock = clock;
    this.#settings = settings;
    this.#credentials = credentials;
    this.server = new ServerClock(() => clock.now());
  }

  /** A connection for a unary call. @throws BridgeError `canceled` after the client was closed */
  forCall(): Link {
    return this.#find(() => true);
  }

  /** A connection for a stream. @throws BridgeError `canceled` after the client was closed */
  forStream(): Link {
    return this.#find((link) => link.streams < STREAMS_PER_LINK);
  }

  /** Uses these credentials for new calls; open streams stay on their connections. */
  use(credentials: Credentials): void {
    if (this.#closed) return;
    const trustOf = ({ tls, lists }: Credentials) => JSON.stringify([tls, lists]);
    const sameTls = trustOf(credentials) === trustOf(this.#credentials);
    this.#credentials = credentials;
    if (sameTls) {
      for (const link of [...this.#open, ...this.#retired]) link.useKey(credentials);
      return;
    }
    for (const link of this.#open) {
      this.#retired.add(link);
      link.retire();
    }
    for (const link of this.#retired) if (link.isUnused) this.#retired.delete(link);
    this.#open = [];
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    for (const link of [...this.#open, ...this.#retired]) link[Symbol.dispose]();
    this.#open = [];
    this.#retired.clear();
  }

  #find(fits: (link: Link) => boolean): Link {
    if (this.#closed) throw clientClosed();
    const found = this.#open.find(fits);
    if (found !== undefined) return found;
    const link = new Link(this.#clock, this.#settings, this.#credentials, this.server);
    this.#open.push(link);
    return link;
  }
}
