import { type DescMessage, type DescMethod, fromJson, type JsonValue, type Message } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  ThreadsService,
  type WatchThreadsRequest,
  WatchThreadsResponseSchema,
} from "../../gen/threads/v1/threads_pb.ts";
import { plainJson } from "../../rpc/common/plain-json.ts";
import type { Routes } from "../../rpc/server/adapter.ts";
import { STRICT_JSON } from "../../rpc/server/strict-json.ts";
import type { OperationCalls } from "./calls.ts";
import { correlationIdOf } from "./correlation.ts";
import { OPERATIONS } from "./operations.ts";
import { provenOf } from "./threads-gate.ts";
import type { Tool } from "./tools.ts";

type Handler = (request: Message, context: HandlerContext) => Promise<Message> | AsyncIterable<Message>;

/** ThreadsService: each RPC is the operation of the same name, and refuses unknown fields as the MCP tool does. */
export function threadsRoutes(calls: OperationCalls): Routes {
  const byMethod = new Map(OPERATIONS.map((tool) => [camelCase(tool.name), tool]));
  const methods: Record<string, Handler> = {};
  for (const method of ThreadsService.methods) {
    const tool = byMethod.get(method.localName);
    if (tool === undefined || method.methodKind !== "unary") continue;
    methods[method.localName] = (request, context) => answer(calls, method, tool, request, context);
  }
  const { watchThreads: method } = ThreadsService.method;
  methods[method.localName] = (request, context) => watch(calls, request as WatchThreadsRequest, context);
  return (router) =>
    router.service(ThreadsService, methods as Partial<ServiceImpl<typeof ThreadsService>>, STRICT_JSON);
}

async function answer(
  calls: OperationCalls,
  method: DescMethod,
  tool: Tool,
  request: Message,
  context: HandlerContext,
): Promise<Message> {
  const input = plainJson(method.input, request);
  const id = correlationIdOf(context.requestHeader.get("traceparent"));
  const output = await calls.call(tool, provenOf(context.values), id, input, context.signal);
  return messageOf(method.output, output);
}

async function* watch(
  calls: OperationCalls,
  { after }: WatchThreadsRequest,
  context: HandlerContext,
): AsyncGenerator<Message, void, undefined> {
  const id = correlationIdOf(context.requestHeader.get("traceparent"));
  const seqs = Object.fromEntries(Object.entries(after).map(([threadId, seq]) => [threadId, Number(seq)]));
  const updates = calls.watch(provenOf(context.values), id, { after: seqs }, context.signal);
  for await (const update of updates) yield messageOf(WatchThreadsResponseSchema, update);
}

/**
 * Converts a view, JSON with the field names of a message, to that message. Ignores unknown fields: MCP tools return
 * the same views, which may have more. An optional field of a view is absent, never undefined: `fromJson` would throw.
 */
function messageOf(schema: DescMessage, view: object): Message {
  return fromJson(schema, view as JsonValue, { ignoreUnknownFields: true });
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
