import { createRegistry, type DescFile, type DescService, type Registry, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { ServerReflection, type ServerReflectionRequest } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import {
  ServerReflection as ServerReflectionAlpha,
  type ServerReflectionRequest as ServerReflectionRequestAlpha,
} from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import type { Routes } from "./adapter.ts";

/** gRPC status codes as numbers, as used by reflection. */
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;

type Request = ServerReflectionRequest | ServerReflectionRequestAlpha;

type Answer =
  | { readonly case: "listServicesResponse"; readonly value: { readonly service: { readonly name: string }[] } }
  | { readonly case: "fileDescriptorResponse"; readonly value: { readonly fileDescriptorProto: Uint8Array[] } }
  | { readonly case: "allExtensionNumbersResponse"; readonly value: { readonly baseTypeName: string } }
  | { readonly case: "errorResponse"; readonly value: { readonly errorCode: number; readonly errorMessage: string } };

interface Known {
  readonly services: readonly DescService[];
  readonly files: ReadonlyMap<string, DescFile>;
  readonly types: Registry;
}

/**
 * Server reflection, v1 and v1alpha, of the given services, the details of errors, and itself, so that generic clients
 * (grpcurl) can call without .proto files. A file is sent with all its imports, each once per stream.
 */
export function reflectionRoutes(services: readonly DescService[]): Routes {
  const known = knownOf([...services, ServerReflection, ServerReflectionAlpha]);
  return (router) => {
    router.service(ServerReflection, { serverReflectionInfo: (requests) => answersTo(requests, known) });
    router.service(ServerReflectionAlpha, { serverReflectionInfo: (requests) => answersTo(requests, known) });
  };
}

function knownOf(services: readonly DescService[]): Known {
  const files = new Map<string, DescFile>();
  const add = (file: DescFile) => {
    if (files.has(file.proto.name)) return;
    files.set(file.proto.name, file);
    file.dependencies.forEach(add);
  };
  for (const service of services) add(service.file);
  add(ErrorInfoSchema.file); // in the details of every error
  return { services, files, types: createRegistry(...files.values()) };
}

async function* answersTo<R extends Request>(requests: AsyncIterable<R>, known: Known) {
  const sent = new Set<string>();
  for await (const request of requests) {
    const messageResponse = answerTo(request.messageRequest, known, sent);
    yield { validHost: request.host, originalRequest: request, messageResponse };
  }
}

function answerTo(request: Request["messageRequest"], known: Known, sent: Set<string>): Answer {
  switch (request.case) {
    case "listServices":
      return {
        case: "listServicesResponse",
        value: { service: known.services.map(({ typeName }) => ({ name: typeName })) },
      };
    case "fileByFilename":
      return fileAnswer(known.files.get(request.value), request.value, sent);
    case "fileContainingSymbol":
      return fileAnswer(fileOfSymbol(request.value, known.types), request.value, sent);
    case "fileContainingExtension":
      return failure(NOT_FOUND, "extensions are not supported");
    case "allExtensionNumbersOfType":
      return known.types.getMessage(request.value)
        ? { case: "allExtensionNumbersResponse", value: { baseTypeName: request.value } }
        : failure(NOT_FOUND, `no message ${request.value}`);
    case undefined:
      return failure(INVALID_ARGUMENT, "the request is empty");
  }
}

/** `a.b.Service`, `a.b.Message`, `a.b.Enum`, or a method or field of one. */
function fileOfSymbol(symbol: string, types: Registry): DescFile | undefined {
  return (types.get(symbol) ?? types.get(symbol.slice(0, symbol.lastIndexOf("."))))?.file;
}

function fileAnswer(file: DescFile | undefined, asked: string, sent: Set<string>): Answer {
  if (file === undefined) return failure(NOT_FOUND, `unknown: ${asked}`);
  const fileDescriptorProto: Uint8Array[] = [];
  const add = (next: DescFile) => {
    sent.add(next.proto.name);
    fileDescriptorProto.push(toBinary(FileDescriptorProtoSchema, next.proto));
    for (const dependency of next.dependencies) if (!sent.has(dependency.proto.name)) add(dependency);
  };
  add(file);
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

function failure(errorCode: number, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}
