import { type DescMethod, fromJson, type JsonValue, type Message } from "@bufbuild/protobuf";
import { type ContextKey, createContextKey, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { bearerOf } from "../../auth/bearer.ts";
import { DomainError } from "../../base/errors.ts";
import { ThreadsService } from "../../gen/threads/v1/threads_pb.ts";
import { plainJson } from "../../rpc/common/plain-json.ts";
import type { Routes } from "../../rpc/server/adapter.ts";
import { authorizationKey, type CallContext, endCallKey } from "../../rpc/server/call-facts.ts";
import { threadsError } from "../domain/faults.ts";
import type { Calls } from "./calls.ts";
import { correlationIdOf } from "./correlation.ts";
import type { TokenHolds } from "./holds.ts";
import { OPERATIONS } from "./operations.ts";
import type { Tool } from "./tools.ts";
import type { Proof, ThreadsVerifier } from "./verifier.ts";

const proofKey: ContextKey<Proof | undefined> = createContextKey<Proof | undefined>(undefined, {
  description: "what the token of a call proves",
});

/** Verifies the token of every call of ThreadsService before its body is read. */
export function threadsGate(deps: { readonly verifier: ThreadsVerifier; readonly holds: TokenHolds }) {
  return (context: CallContext): void => {
    if (context.service.typeName !== ThreadsService.typeName) return;
    let text: string;
    try {
      text = bearerOf(context.values.get(authorizationKey));
    } catch (err) {
      if (!(err instanceof DomainError)) throw err;
      throw threadsError("UNAUTHORIZED", err.message);
    }
    const proof = deps.verifier.verify(text);
    deps.holds.check(proof);
    context.values.set(proofKey, proof);
    const end = context.values.get(endCallKey);
    if (context.method.methodKind === "unary" || end === undefined) return;
    const held = deps.holds.hold(proof, end);
    context.signal.addEventListener("abort", () => held[Symbol.dispose](), { once: true });
  };
}

/** ThreadsService: each RPC is the operation of the same name. */
export function threadsRoutes(calls: Calls): Routes {
  const byMethod = new Map(OPERATIONS.map((tool) => [camelCase(tool.name), tool]));
  const methods: Record<string, (request: Message, context: HandlerContext) => Promise<Message>> = {};
  for (const method of ThreadsService.methods) {
    const tool = byMethod.get(method.localName);
    if (tool === undefined || method.methodKind !== "unary") continue;
    methods[method.localName] = (request, context) => answer(calls, method, tool, request, context);
  }
  return (router) => router.service(ThreadsService, methods as Partial<ServiceImpl<typeof ThreadsService>>);
}

async function answer(
  calls: Calls,
  method: DescMethod,
  tool: Tool,
  request: Message,
  context: HandlerContext,
): Promise<Message> {
  const input = plainJson(method.input, request);
  const id = correlationIdOf(context.requestHeader.get("traceparent"));
  const output = await calls.run(tool, proofOf(context), id, input, context.signal);
  return fromJson(method.output, output as JsonValue, { ignoreUnknownFields: true });
}

/** What the token of this call proves. */
function proofOf(context: HandlerContext): Proof {
  const proof = context.values.get(proofKey);
  if (proof === undefined) throw threadsError("UNAUTHORIZED", "the call has no token");
  return proof;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
