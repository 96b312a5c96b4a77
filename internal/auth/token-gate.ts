import type { X509Certificate } from "node:crypto";
import { type ContextKey, createContextKey } from "@connectrpc/connect";
import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import type { CheckedTls } from "../pki/tls-files.ts";
import { type Peer, peerKey } from "../rpc/port/peer.ts";
import { authorizationKey, type CallContext, endCallKey } from "../rpc/server/call-facts.ts";
import type { Decisions } from "../rpc/server/decisions.ts";
import { bearerOf } from "./bearer.ts";
import { type CertificateFacts, caKeyOf } from "./issuing-cas.ts";
import { tokenError } from "./token-error.ts";
import type { TokenLeases } from "./token-leases.ts";
import type { TokenVerifier, VerifiedToken } from "./token-verifier.ts";

/** Where handlers find the token of a call: `context.values.get(tokenKey)`. */
export const tokenKey: ContextKey<VerifiedToken | undefined> = createContextKey<VerifiedToken | undefined>(undefined, {
  description: "the token that a call came with",
});

export interface TokenGateDeps {
  readonly clock: Clock;
  readonly verifier: TokenVerifier;
  readonly leases: TokenLeases;
  /** The files in use. */
  readonly tls: () => CheckedTls | undefined;
  /** Hears when a stream ends with its token. */
  readonly decisions?: Pick<Decisions, "ended">;
}

export interface TokenGateOptions {
  /** A call without a token is refused; otherwise it continues with what its certificate allows. */
  readonly required: boolean;
  /** Services for which a certificate is enough, by type name. */
  readonly freeServices: ReadonlySet<string>;
  /** Tokens of a call beside those of `authorization`; a call with more than one in all is refused. Default: none. */
  readonly alsoShown?: (context: CallContext) => readonly string[];
  /** As `TokenVerifierOptions` has it. */
  readonly clientCertificate?: "required" | "optional";
  /** Services that end a call themselves when its own token ends: no later token makes the call last longer. */
  readonly selfEnding?: ReadonlySet<string>;
  /** A caller whose token is refused gets this error instead of `why`. */
  readonly refusal?: (why: DomainError) => DomainError;
}

type Gate = (context: CallContext) => void;

/**
 * Verifies the token of a call before its body is read. A token that does not count is refused also where none is
 * required. A stream that it admits ends with it: see `TokenLeases`.
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

function factsOf(peer: Peer, { tls, clock }: TokenGateDeps, owns: OwnCas): CertificateFacts {
  const files = tls();
  const certificate = peer.type === "certificate" ? peer.certificate : undefined;
  const issuer = certificate && files?.trust.issuerOf(certificate, clock.now());
  if (files === undefined || certificate === undefined || issuer === undefined) {
    throw tokenError("certificate", "a token is valid only with a certificate of its issuer");
  }
  return { certificate, issuer, cas: files.trust.cas, isOwn: owns.has(issuer, files) };
}

/**
 * The CAs of our own certificate: those that it has now, and those that it had since we began, as long as they are
 * trusted. So clients may be given certificates of a new CA after us.
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
