import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type ContextValues, createContextValues } from "@connectrpc/connect";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { connectErrorOf } from "../common/errors.ts";
import { type Caller, callerKey, callerOf, SENDER_HEADER, SENDER_ROLE_HEADER } from "../port/caller.ts";
import type { CallerConnections } from "../port/caller-connections.ts";
import type { Connections } from "../port/connections.ts";
import { type Peer, peerKey } from "../port/peer.ts";
import type { ServerRequest, ServerResponse12 } from "../port/request.ts";
import { type CallContext, correlationKey, endCallKey, noteFacts } from "./call-facts.ts";
import { type Call, type Calls, callKey } from "./calls.ts";
import type { Decisions } from "./decisions.ts";
import { type HostCheck, hostRefusal } from "./host-check.ts";
import type { Metrics } from "./metrics.ts";

/** Admits a call, or throws the error for its caller. */
export type Gate = (context: CallContext) => void | Promise<void>;

/**
 * Handlers for requests other than RPCs. Undefined: nothing at this path. Both must admit calls through `guard` only.
 */
export interface PlainServing {
  route(path: string, guard: Guard): ((req: ServerRequest, res: ServerResponse12) => Promise<void>) | undefined;
  upgrade(
    path: string,
    guard: Guard,
  ): ((req: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>) | undefined;
}

export interface GuardDeps {
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly decisions?: Decisions | undefined;
  readonly connections: Connections;
  readonly callers: CallerConnections;
  readonly calls: Calls;
  /** Aborted when the server stops. */
  readonly shutdown: AbortSignal;
}

/** As in `RpcServerOptions`. */
export interface GuardOptions {
  readonly tls?: unknown;
  readonly clientCertificate?: "required" | "optional";
  readonly believes?: ((peer: Peer) => boolean) | undefined;
  readonly shareOf?: (path: string, share: string) => string;
  readonly hostCheck?: HostCheck;
  readonly gates?: readonly Gate[];
  readonly isOpenToAll?: (service: string) => boolean;
}

/** A call other than an RPC. */
export interface PlainCall {
  readonly url: string;
  readonly header: Headers;
  /** The names in the audit log and in metrics: `service/method`. Contain nothing that a caller chose. */
  readonly service: string;
  readonly method: string;
  readonly protocol: "http" | "websocket";
  /** Aborted by its owner when the response, or the connection, has closed. */
  readonly abort: AbortController;
  /** Registers a callback for when the response, or the connection, has closed. */
  readonly onClosed: (closed: () => void) => void;
}

/** Runs the checks of every call, and ends calls: RPCs, plain routes and upgraded connections alike. */
export class Guard {
  readonly logger: Logger;
  readonly #deps: GuardDeps;
  readonly #options: GuardOptions;

  constructor(deps: GuardDeps, options: GuardOptions) {
    this.logger = deps.logger;
    this.#deps = deps;
    this.#options = options;
  }

  /** The caller, and the parts of the request that gates need. */
  valuesOf(req: ServerRequest): ContextValues {
    const peer = this.#deps.connections.peerOf(req);
    const values = createContextValues().set(peerKey, peer).set(callerKey, this.#callerOf(peer, req));
    return noteFacts(values, req);
  }

  /** Undefined: too many calls are open, and this one must be cut off. */
  enter(values: ContextValues): Call | undefined {
    return this.#deps.calls.enter(values.get(callerKey).share);
  }

  /**
   * Registers `abort`, which ends the call if the connection loses our trust or a gate requires it. Its owner aborts it
   * when the call is over.
   */
  began(values: ContextValues, abort: AbortController, unary: boolean): void {
    this.#deps.connections.track(values.get(peerKey), abort, unary);
    values.set(endCallKey, (why) => abort.abort(why));
  }

  /** @throws ConnectError the response to a refused call, which has been counted and recorded */
  async check(context: CallContext): Promise<void> {
    const { decisions, callers, metrics } = this.#deps;
    try {
      await this.#pass(context);
    } catch (err) {
      const peer = context.values.get(peerKey);
      if (err instanceof DomainError && err.kind === "unauthenticated") callers.refused(peer);
      const answer = err instanceof DomainError ? connectErrorOf(this.#refused(context, err)) : err;
      metrics?.countRefusal(context, answer);
      throw answer;
    }
    decisions?.call(context, undefined);
  }

  /**
   * Runs the checks of a call other than an RPC and returns its context; `abort` ends it as an RPC would end.
   * Undefined: too many calls are open, and this one must be cut off.
   * @throws as `check`
   */
  async admit(req: ServerRequest, plain: PlainCall): Promise<CallContext | undefined> {
    const { abort, service, method, protocol } = plain;
    const values = this.valuesOf(req);
    const call = this.enter(values);
    if (call === undefined) return undefined;
    plain.onClosed(() => call.closed());
    values.set(callKey, call);
    this.began(values, abort, false);
    const { shutdown } = this.#deps;
    const stop = () => abort.abort(stopping());
    shutdown.addEventListener("abort", stop, { once: true, signal: abort.signal });
    const context: CallContext = {
      ...{ values, url: plain.url, requestHeader: plain.header, signal: abort.signal, protocolName: protocol },
      service: { typeName: service },
      method: { name: method, localName: method, methodKind: "bidi_streaming" },
    };
    await this.check(context);
    const ended = this.#deps.metrics?.streamBegan(`${service}/${method}`, protocol);
    plain.onClosed(() => ended?.(abort.signal.reason instanceof DomainError ? abort.signal.reason : undefined));
    return context;
  }

  async #pass(context: CallContext): Promise<void> {
    const { connections, callers, shutdown } = this.#deps;
    const { tls, clientCertificate, hostCheck, gates = [], isOpenToAll } = this.#options;
    const peer = context.values.get(peerKey);
    if (tls !== undefined && clientCertificate !== "optional" && peer.type !== "certificate")
      throw new DomainError("unauthenticated", "the connection does not identify the caller");
    const unwanted = connections.refusalOf(peer);
    if (unwanted) throw unwanted;
    const { fault } = context.values.get(callerKey);
    if (fault) throw fault;
    const tooMany = context.values.get(callKey)?.refusal;
    if (tooMany) throw tooMany;
    if (hostCheck) {
      const refusal = hostRefusal(new URL(context.url).host, context.requestHeader.get("origin"), hostCheck);
      if (refusal !== undefined) throw new DomainError("denied", refusal);
    }
    if (shutdown.aborted) throw stopping();
    for (const gate of gates) await gate(context);
    if (isOpenToAll?.(context.service.typeName) !== true) callers.promote(peer);
  }

  /** Reports a refusal; returns the error for the caller. */
  #refused(context: CallContext, refusal: DomainError): DomainError {
    const { decisions } = this.#deps;
    if (decisions === undefined) return refusal;
    decisions.call(context, refusal);
    const { kind, message, fields } = refusal;
    return new DomainError(kind, message, {
      fields: { ...fields, correlation_id: context.values.get(correlationKey) },
      cause: refusal,
    });
  }

  #callerOf(peer: Peer, req: ServerRequest): Caller {
    const { believes, shareOf } = this.#options;
    const isBelieved = believes?.(peer) ?? false;
    const known = callerOf(peer, headerOf(req, SENDER_HEADER), isBelieved);
    const caller = shareOf === undefined ? known : { ...known, share: shareOf(pathOf(req), known.share) };
    const senderRole = isBelieved ? headerOf(req, SENDER_ROLE_HEADER) : undefined;
    return senderRole === undefined ? caller : { ...caller, senderRole };
  }
}

function stopping(): DomainError {
  return new DomainError("unavailable", "the server is shutting down");
}

function pathOf({ url }: ServerRequest): string {
  return url?.split("?", 1)[0] ?? "";
}

function headerOf({ headers }: ServerRequest, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join() : value;
}
