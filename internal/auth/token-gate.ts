import type { X509Certificate } from "node:crypto";
import { type ContextKey, createContextKey } from "@connectrpc/connect";
import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import type { CheckedTls } from "../pki/tls-files.ts";
import { type Peer, peerKey } from "../rpc/port/peer.ts";
import { authorizationKey, type CallContext, endCallKey } from "../rpc/server/call-facts.ts";
import type { Decisions } from "../rpc/server/decisions.ts";
import { bearerOf } from "./bearer.ts";
import { type CallerChain, caKeyOf } from "./issuing-cas.ts";
import { tokenError } from "./token-error.ts";
import type { TokenLeases } from "./token-leases.ts";
import type { TokenVerifier, VerifiedToken } from "./token-verifier.ts";

/** Handlers read the verified token of a call with `context.values.get(tokenKey)`. */
export const tokenKey: ContextKey<VerifiedToken | undefined> = createContextKey<VerifiedToken | undefined>(undefined, {
  description: "the token that a call came with",
});

export interface TokenGateDeps {
  readonly clock: Clock;
  readonly verifier: TokenVerifier;
  readonly leases: TokenLeases;
  /** The TLS files in use. */
  readonly tls: () => CheckedTls | undefined;
  /** Receives the end of a stream whose token has expired. */
  readonly decisions?: Pick<Decisions, "ended"> | undefined;
}

export interface TokenGateOptions {
  /** True: a call without a token is refused. False: it may do what its certificate allows. */
  readonly required: boolean;
  /** Services that need no token, by type name. */
  readonly freeServices: ReadonlySet<string>;
  /**
   * Further tokens of a call, besides those in `authorization`; a call with more than one token in total is refused.
   * Default: none.
   */
  readonly alsoShown?: (context: CallContext) => readonly string[];
  /** See `TokenVerifierOptions`. */
  readonly clientCertificate?: "required" | "optional";
  /** Services that end a call themselves when its own token expires: a later token does not prolong the call. */
  readonly selfEnding?: ReadonlySet<string>;
  /** Maps the error that a caller with a bad token receives. */
  readonly refusal?: (why: DomainError) => DomainError;
}

type Gate = (context: CallContext) => void;

/**
 * Verifies the token of a call before its body is read. An invalid token is refused even if none is required. A stream
 * ends when the token that admitted it expires: see `TokenLeases`.
 */
export function tokenGate(deps: TokenGateDeps, options: TokenGateOptions): Gate {
  const { required, freeServices, clientCertificate, alsoShown, selfEnding, refusal } = options;
  const owns = new OwnCas();
  const verified = (headers: readonly string[], others: readonly string[], peer: Peer): VerifiedToken => {
    try {
      const isBare = clientCertificate === "optional" && peer.type !== "certificate";
      return deps.verifier.verify(tokenOf(headers, others), isBare ? undefined : factsOf(peer, deps, owns));
    } catch (err) {
      throw err instanceof DomainError && refusal !== undefined ? refusal(err) : err;
    }
  };
  return (context) => {
    const headers = context.values.get(authorizationKey);
    const { typeName } = context.service;
    if (freeServices.has(typeName)) return;
    const others = alsoShown?.(context) ?? [];
    if (headers.length + others.length === 0 && !required) return;
    const peer = context.values.get(peerKey);
    const token = verified(headers, others, peer);
    context.values.set(tokenKey, token);
    if (selfEnding?.has(typeName)) return;
    deps.leases.shown(peer, token);
    const end = context.values.get(endCallKey);
    if (context.method.methodKind === "unary" || end === undefined) return;
    const endByToken = (why: DomainError) => {
      deps.decisions?.ended(context, why);
      end(why);
    };
    deps.leases.hold(peer, token, endByToken, context.signal);
  };
}

function tokenOf(headers: readonly string[], others: readonly string[]): string {
  const [other] = others;
  if (other === undefined) return bearerOf(headers);
  if (headers.length + others.length === 1) return other;
  throw tokenError("header", "the call has more than one token");
}

function factsOf(peer: Peer, { tls, clock }: TokenGateDeps, owns: OwnCas): CallerChain {
  const files = tls();
  const certificate = peer.type === "certificate" ? peer.certificate : undefined;
  const issuer = certificate && files?.trust.issuerOf(certificate, clock.now());
  if (files === undefined || certificate === undefined || issuer === undefined) {
    throw tokenError("certificate", "a token is valid only with a certificate of its issuer");
  }
  return { certificate, issuer, cas: files.trust.cas, isOwn: owns.has(issuer, files) };
}

/**
 * The CAs that have signed our own certificates since the process began. A client may thus get a certificate of a new
 * CA later than we do, as long as the previous CA is trusted.
 */
class OwnCas {
  readonly #keys = new Set<string>();
  #seen: CheckedTls | undefined;

  has(issuer: X509Certificate, files: CheckedTls): boolean {
    if (files !== this.#seen) for (const ca of files.issuers) this.#keys.add(caKeyOf(ca));
    this.#seen = files;
    return this.#keys.has(caKeyOf(issuer));
  }
}
