import { setTimeout as sleep } from "node:timers/promises";
import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import { ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import {
  BidiStreamRequestSchema,
  ClientStreamRequestSchema,
  type ConformancePayload_RequestInfo,
  ConformancePayload_RequestInfoSchema,
  type ConformanceService,
  type Error as ErrorDefinition,
  type Header,
  IdempotentUnaryRequestSchema,
  ServerStreamRequestSchema,
  type StreamResponseDefinition,
  UnaryRequestSchema,
  type UnaryResponseDefinition,
} from "./gen/conformance_pb.ts";

type RequestInfo = ConformancePayload_RequestInfo;

/** Answers as each request demands, and includes the received part of the request. */
export const conformanceService: Partial<ServiceImpl<typeof ConformanceService>> = {
  async unary(request, context) {
    return { payload: await answerOne(request.responseDefinition, [pack(UnaryRequestSchema, request)], context) };
  },
  async idempotentUnary(request, context) {
    const requests = [pack(IdempotentUnaryRequestSchema, request)];
    return { payload: await answerOne(request.responseDefinition, requests, context) };
  },
  async clientStream(requests, context) {
    const received: Any[] = [];
    let definition: UnaryResponseDefinition | undefined;
    for await (const request of requests) {
      if (received.length === 0) definition = request.responseDefinition;
      received.push(pack(ClientStreamRequestSchema, request));
    }
    return { payload: await answerOne(definition, received, context) };
  },
  async *serverStream(request, context) {
    yield* answerAll(request.responseDefinition, [pack(ServerStreamRequestSchema, request)], context);
  },
  async *bidiStream(requests, context) {
    let received: Any[] = [];
    let definition: StreamResponseDefinition | undefined;
    let fullDuplex = false;
    let answered = 0;
    for await (const request of requests) {
      if (definition === undefined) {
        definition = request.responseDefinition;
        fullDuplex = request.fullDuplex;
        if (fullDuplex) setMetadata(definition, context);
      }
      received.push(pack(BidiStreamRequestSchema, request));
      if (!fullDuplex) continue;
      const data = definition?.responseData[answered];
      if (data === undefined) break;
      await sleep(definition?.responseDelayMs ?? 0);
      const seen = { requests: received };
      yield { payload: { data, requestInfo: answered++ === 0 ? infoOf(received, context) : seen } };
      received = [];
    }
    if (!fullDuplex) return yield* answerAll(definition, received, context);
    for (const data of definition?.responseData.slice(answered) ?? []) {
      await sleep(definition?.responseDelayMs ?? 0);
      yield { payload: { data, requestInfo: answered++ === 0 ? infoOf(received, context) : undefined } };
    }
    if (definition?.error) throw failure(definition.error, answered === 0 ? infoOf(received, context) : undefined);
  },
};

async function answerOne(definition: UnaryResponseDefinition | undefined, requests: Any[], context: HandlerContext) {
  setMetadata(definition, context);
  await sleep(definition?.responseDelayMs ?? 0);
  const requestInfo = infoOf(requests, context);
  const response = definition?.response;
  if (response?.case === "error") throw failure(response.value, requestInfo);
  return { data: response?.case === "responseData" ? response.value : new Uint8Array(), requestInfo };
}

async function* answerAll(definition: StreamResponseDefinition | undefined, requests: Any[], context: HandlerContext) {
  setMetadata(definition, context);
  let first = true;
  for (const data of definition?.responseData ?? []) {
    await sleep(definition?.responseDelayMs ?? 0);
    yield { payload: { data, requestInfo: first ? infoOf(requests, context) : undefined } };
    first = false;
  }
  if (definition?.error) throw failure(definition.error, first ? infoOf(requests, context) : undefined);
}

function setMetadata(
  definition: { readonly responseHeaders: readonly Header[]; readonly responseTrailers: readonly Header[] } | undefined,
  { responseHeader, responseTrailer }: HandlerContext,
): void {
  for (const { name, value } of definition?.responseHeaders ?? [])
    for (const each of value) responseHeader.append(name, each);
  for (const { name, value } of definition?.responseTrailers ?? [])
    for (const each of value) responseTrailer.append(name, each);
}

function infoOf(requests: Any[], context: HandlerContext): RequestInfo {
  const timeoutMs = context.timeoutMs();
  const params = [...new URL(context.url).searchParams].map(([name, value]) => ({ name, value: [value] }));
  return create(ConformancePayload_RequestInfoSchema, {
    requests,
    requestHeaders: [...context.requestHeader].map(([name, value]) => ({ name, value: [value] })),
    timeoutMs: timeoutMs === undefined ? undefined : BigInt(Math.round(timeoutMs)),
    connectGetInfo: context.requestMethod === "GET" ? { queryParams: params } : undefined,
  });
}

function failure({ code, message, details }: ErrorDefinition, info: RequestInfo | undefined): ConnectError {
  const error = new ConnectError(message ?? "", code as number);
  error.details = details.map(({ typeUrl, value }) => ({ type: typeUrl.split("/").at(-1) ?? "", value }));
  if (info) error.details.push({ desc: ConformancePayload_RequestInfoSchema, value: info });
  return error;
}

function pack<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): Any {
  return anyPack(schema, message);
}
