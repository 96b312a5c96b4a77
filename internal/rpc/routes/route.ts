import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { DomainError } from "../../base/errors.ts";
import type { CallContext } from "../server/call-facts.ts";

/** Where a route or an upgrade is. */
export interface Place {
  /** As `/v1/mcp`; a segment `*` stands for any one segment that is not empty, a last `**` for all that follows. */
  readonly path: string;
  /** What gates, the audit log and metrics know it by, like an RPC's service. Default: `http`. */
  readonly service?: string;
  /** Headers of a refusal, such as `www-authenticate`; `url` is the request's. */
  readonly refusalHeaders?: (refusal: DomainError, url: string) => Readonly<Record<string, string>>;
  /** The JSON of a refusal. Default: as RPCs have it. */
  readonly refusalBody?: (refusal: DomainError) => object;
}

/** Plain HTTP at one path, over HTTP/1.1 and HTTP/2. */
export interface Route extends Place {
  /** Others are answered with 405, once they have passed. */
  readonly methods: readonly string[];
  /** Of a request's body; more fails the reader with `exhausted`. Default 512 KiB. */
  readonly maxBodyBytes?: number;
  /**
   * Answers a request that has passed. `request.signal` and `call.signal` are aborted when the call ends, the reason
   * says why; an answer that is still open 1 s later is cut. A DomainError is answered as RPCs are, in JSON.
   */
  readonly handle: (request: Request, call: CallContext) => Response | Promise<Response>;
}

/** A WebSocket at one path, over HTTP/1.1. */
export interface UpgradeRoute extends Place {
  /**
   * Has a connection that has passed. Until it takes the socket, what it throws is answered as an HTTP error, and what
   * it returns is the answer to a connection that it does not want. When `call.signal` is aborted it closes the
   * connection; one that is still open 1 s later is cut. The call ends with it.
   */
  readonly handle: (upgrade: Upgrade, call: CallContext) => UpgradeAnswer | Promise<UpgradeAnswer>;
}

/** Undefined: the socket was taken. */
type UpgradeAnswer = Response | undefined;

export interface Upgrade {
  readonly req: IncomingMessage;
  /** The socket, and what was read of it after the request: no one else answers the request from now on. */
  take(): { readonly socket: Duplex; readonly head: Buffer };
}

export interface PlainOptions {
  readonly routes?: readonly Route[];
  readonly upgrades?: readonly UpgradeRoute[];
}
