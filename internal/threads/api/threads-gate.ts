import { type ContextKey, type ContextValues, createContextKey } from "@connectrpc/connect";
import { bearerOf } from "../../auth/bearer.ts";
import { DomainError } from "../../base/errors.ts";
import { ThreadsService } from "../../gen/threads/v1/threads_pb.ts";
import { authorizationKey, type CallContext, endCallKey } from "../../rpc/server/call-facts.ts";
import { threadsError } from "../domain/faults.ts";
import type { TokenHolds } from "./holds.ts";
import type { Proof, ThreadsVerifier } from "./verifier.ts";

/** The name of `/v1/mcp` for gates and the audit log. */
export const MCP_SERVICE = "threads.mcp";

const proofKey: ContextKey<Proof | undefined> = createContextKey<Proof | undefined>(undefined, {
  description: "what the token of a call proves",
});

/**
 * Verifies the token of every call of ThreadsService and of MCP before its body is read. A stream ends with its token;
 * a call of MCP is told so by the operation or the stream that it is.
 */
export function threadsGate(deps: {
  readonly verifier: ThreadsVerifier;
  readonly holds: TokenHolds;
  /** Hears of each caller that is refused: the code. */
  readonly onRefused?: (code: string) => void;
}) {
  return (context: CallContext): void => {
    const { typeName } = context.service;
    if (typeName !== ThreadsService.typeName && typeName !== MCP_SERVICE) return;
    let proof: Proof;
    try {
      proof = deps.verifier.verify(bearerOf(context.values.get(authorizationKey)));
      deps.holds.check(proof);
    } catch (err) {
      if (!(err instanceof DomainError)) throw err;
      deps.onRefused?.("UNAUTHORIZED");
      throw err.fields["code"] === undefined ? threadsError("UNAUTHORIZED", err.message) : err;
    }
    context.values.set(proofKey, proof);
    const end = context.values.get(endCallKey);
    if (typeName === MCP_SERVICE || context.method.methodKind === "unary" || end === undefined) return;
    const held = deps.holds.hold(proof, end);
    context.signal.addEventListener("abort", () => held[Symbol.dispose](), { once: true });
  };
}

/** The facts that a call's token proves. */
export function proofOf(values: ContextValues): Proof {
  const proof = values.get(proofKey);
  if (proof === undefined) throw threadsError("UNAUTHORIZED", "the call has no token");
  return proof;
}
