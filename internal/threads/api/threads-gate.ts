import { type ContextKey, type ContextValues, createContextKey } from "@connectrpc/connect";
import { tokenKey } from "../../auth/token-gate.ts";
import { DomainError } from "../../base/errors.ts";
import { ThreadsService } from "../../gen/threads/v1/threads_pb.ts";
import { type CallContext, endCallKey } from "../../rpc/server/call-facts.ts";
import type { Decisions } from "../../rpc/server/decisions.ts";
import { threadsError } from "../domain/faults.ts";
import { type Proof, proofOf, type TokenLives } from "./claims.ts";
import type { TokenHolds } from "./holds.ts";

/** The name of `/v1/mcp` for gates and the audit log. */
export const MCP_SERVICE = "threads.mcp";
/** The name of the OAuth metadata of `/v1/mcp`, which callers get without a token. */
export const OAUTH_SERVICE = "threads.oauth";
/** Services whose calls this gate ends with their tokens. */
export const SELF_ENDING: ReadonlySet<string> = new Set([MCP_SERVICE, ThreadsService.typeName]);

const proofKey: ContextKey<Proof | undefined> = createContextKey<Proof | undefined>(undefined, {
  description: "facts that the token of a call proves",
});

/**
 * Checks calls of ThreadsService and MCP whose tokens have been verified: refuses a token that is revoked, or that its
 * issuer may not sign. A streaming RPC ends with its token; a unary one or a call of MCP fails in the operation or
 * stream that it runs. Each end is recorded once.
 */
export function threadsGate(deps: {
  readonly lives: TokenLives;
  readonly holds: TokenHolds;
  /** Called with the error code of each refused call. */
  readonly onRefused?: (code: string) => void;
  /** Records calls that end with their token. */
  readonly decisions?: Pick<Decisions, "ended"> | undefined;
}) {
  return (context: CallContext): void => {
    const { typeName } = context.service;
    if (!SELF_ENDING.has(typeName)) return;
    const token = context.values.get(tokenKey);
    if (token === undefined) throw threadsError("UNAUTHORIZED", "the call has no token");
    let proof: Proof;
    try {
      proof = proofOf(token, deps.lives);
      deps.holds.check(proof);
    } catch (err) {
      if (err instanceof DomainError) deps.onRefused?.("UNAUTHORIZED");
      throw err;
    }
    context.values.set(proofKey, proof);
    const isStream = typeName !== MCP_SERVICE && context.method.methodKind !== "unary";
    const end = isStream ? context.values.get(endCallKey) : undefined;
    const held = deps.holds.hold(proof, (why) => {
      deps.decisions?.ended(context, why);
      end?.(why);
    });
    context.signal.addEventListener("abort", () => held[Symbol.dispose](), { once: true });
  };
}

/** Converts a failure to verify a token to one with the code UNAUTHORIZED. */
export function unauthorized({ message, fields }: DomainError): DomainError {
  return threadsError("UNAUTHORIZED", message, fields);
}

/** The facts that a call's token proves. @throws DomainError `unauthenticated`, code UNAUTHORIZED, without a token */
export function provenOf(values: ContextValues): Proof {
  const proof = values.get(proofKey);
  if (proof === undefined) throw threadsError("UNAUTHORIZED", "the call has no token");
  return proof;
}
