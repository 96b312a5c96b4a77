import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { DomainError } from "../../base/errors.ts";
import type { CallContext } from "../server/call-facts.ts";

/** The address of a route or an upgrade. */
export interface RouteAddress {
  /** Such as `/v1/mcp`; a segment `*` matches any one segment that is not empty, a final `**` all that follows. */
  readonly path: string;
  /** Its name for gates, the audit log and metrics, like an RPC's service. Default: `http`. */
  readonly service?: string;
  /** Headers of a refusal, such as `www-authenticate`; `url` is that of the request. */
  readonly refusalHeaders?: (refusal: DomainError, url: string) => Readonly<Record<string, string>>;
  /** JSON body of a refusal. Default: that of an RPC. */
  readonly refusalBody?: (refusal: DomainError) => object;
}

/** Plain HTTP at one path, for HTTP/1.1 and HTTP/2. */
export interface Route extends RouteAddress {
  /** Other methods get 405, after the checks. */
  readonly methods: readonly string[];
  /** The largest request body; reading more fails with `exhausted`. Default 512 KiB. */
  readonly maxBodyBytes?: number;
  /**
   * Answers a request that has passed the checks. `request.signal` and `call.signal` are aborted when the call ends,
   * with the reason; a response that is still open 1 s later is cut. A DomainError is answered as for RPCs, in JSON.
   */
  readonly handle: (request: Request, call: CallContext) => Response | Promise<Response>;
}

/** A WebSocket at one path, over HTTP/1.1. */
export interface UpgradeRoute extends RouteAddress {
  /**
   * Handles a connection that has passed the checks. Until it takes the socket, an error is answered as an HTTP error,
   * and a returned response refuses the connection. When `call.signal` is aborted, it must close the connection, which
   * is cut 1 s later. The call ends with the connection.
   */
  readonly handle: (upgrade: Upgrade, call: CallContext) => UpgradeAnswer | Promise<UpgradeAnswer>;
}

/** Undefined: the socket was taken. */
type UpgradeAnswer = Response | undefined;

export interface Upgrade {
  readonly req: IncomingMessage;
  /** Takes the socket, with the bytes read after the request: the caller owns the connection from now on. */
  take(): { readonly socket: Duplex; readonly head: Buffer };
}

export interface PlainOptions {
  readonly routes?: readonly Route[];
  readonly upgrades?: readonly UpgradeRoute[];
}
