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
/** The name of the page that says which tokens are wanted, for callers without one. */
export const OAUTH_SERVICE = "threads.oauth";
/** Their calls end with their tokens, by this gate. */
export const SELF_ENDING: ReadonlySet<string> = new Set([MCP_SERVICE, ThreadsService.typeName]);

const proofKey: ContextKey<Proof | undefined> = createContextKey<Proof | undefined>(undefined, {
  description: "what the token of a call proves",
});

/**
 * For calls of ThreadsService and of MCP whose tokens have been verified: whether their issuers may say so, and whether
 * they are revoked. A streaming RPC ends with its token; a unary one or a call of MCP fails in the operation or stream
 * that it runs. The end of each is recorded once.
 */
export function threadsGate(deps: {
  readonly lives: TokenLives;
  readonly holds: TokenHolds;
  /** Hears of each caller that is refused: the code. */
  readonly onRefused?: (code: string) => void;
  /** Hears when a call ends with its token. */
  readonly decisions?: Pick<Decisions, "ended">;
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

/** How a caller is answered whose token has not been verified. */
export function unauthorized({ message, fields }: DomainError): DomainError {
  return threadsError("UNAUTHORIZED", message, fields);
}

/** The facts that a call's token proves. */
export function provenOf(values: ContextValues): Proof {
  const proof = values.get(proofKey);
  if (proof === undefined) throw threadsError("UNAUTHORIZED", "the call has no token");
  return proof;
}
