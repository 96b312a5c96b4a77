import {
  type DescMessage,
  type DescMethod,
  fromJson,
  type JsonValue,
  type Message,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import { type ContextKey, createContextKey, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { bearerOf } from "../../auth/bearer.ts";
import { DomainError } from "../../base/errors.ts";
import { ThreadsService } from "../../gen/threads/v1/threads_pb.ts";
import type { Routes } from "../../rpc/server/adapter.ts";
import { authorizationKey, type CallContext, endCallKey } from "../../rpc/server/call-facts.ts";
import { threadsError } from "../domain/faults.ts";
import type { Calls } from "./calls.ts";
import { correlationIdOf } from "./correlation.ts";
import type { TokenHolds } from "./holds.ts";
import { TOOLS, type Tool } from "./tools.ts";
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

/** ThreadsService: each RPC is the tool of the same name. */
export function threadsRoutes(calls: Calls, operations: readonly Tool[] = TOOLS): Routes {
  const byMethod = new Map(operations.map((tool) => [camelCase(tool.name), tool]));
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
  const input = plainInput(method.input, request);
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

/** A message as plain JSON with the names of its fields; `int64` are numbers, fields without a value are left out. */
function plainInput(schema: DescMessage, message: Message): unknown {
  return withNumbers(schema, toJson(schema, message, { useProtoFieldName: true }));
}

function withNumbers(schema: DescMessage, json: JsonValue): JsonValue {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return json;
  if (schema.typeName.startsWith("google.protobuf.")) return json;
  const entries = Object.entries(json).map(([name, value]): [string, JsonValue] => {
    const field = schema.fields.find((one) => one.name === name);
    if (field === undefined) return [name, value];
    if (field.message !== undefined && field.fieldKind !== "map") {
      const { message } = field;
      return [name, Array.isArray(value) ? value.map((one) => withNumbers(message, one)) : withNumbers(message, value)];
    }
    return [name, field.scalar === ScalarType.INT64 && typeof value === "string" ? Number(value) : value];
  });
  return Object.fromEntries(entries);
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
