import { Code, ConnectError } from "@connectrpc/connect";
import { createAsyncIterable, encodeEnvelope, type UniversalServerResponse } from "@connectrpc/connect/protocol";
import {
  codeToHttpStatus,
  createEndStreamSerialization,
  endStreamFlag,
  endStreamFromJson,
  errorFromJsonBytes,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect";
import { findTrailerError, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerParse, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { type FieldsOfKind, withErrorInfo } from "../common/errors.ts";
import { mapParts } from "./map-parts.ts";
import { asRequestFault } from "./request-faults.ts";

/** Flags and payload length. */
const PREFIX_BYTES = 5;
type Describe = (error: ConnectError) => ConnectError;

const endStream = createEndStreamSerialization(undefined);

/**
 * Adds our ErrorInfo to the error in a response. Connect itself makes an error if a request cannot be read; no
 * interceptor sees it, since it exists only in the response, encoded for the caller's protocol.
 */
export async function describeErrors(
  response: UniversalServerResponse,
  fieldsOf?: FieldsOfKind,
): Promise<UniversalServerResponse> {
  const describe = (error: ConnectError) => described(error, fieldsOf);
  const { status, header, body, trailer } = response;
  if (body === undefined) return response;
  const type = header?.get("content-type") ?? "";
  if (status !== 200) return describeUnary(response, body, describe);
  if (type.startsWith("application/grpc-web"))
    return { ...response, body: mapParts(body, (part) => describeWebTrailer(part, describe)) };
  if (trailer !== undefined && type.startsWith("application/grpc")) {
    return { ...response, body: mapParts(body, unchanged, () => describeTrailer(trailer, describe)) };
  }
  if (type.startsWith("application/connect+"))
    return { ...response, body: mapParts(body, (part) => describeEndStream(part, describe)) };
  return response;
}

/** Connect's response to a failed unary call is JSON, whatever the request was. */
async function describeUnary(
  response: UniversalServerResponse,
  body: AsyncIterable<Uint8Array>,
  describe: Describe,
): Promise<UniversalServerResponse> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  const sent = errorFromJsonBytes(Buffer.concat(parts), undefined, new ConnectError("unreadable", Code.Internal));
  const error = describe(sent);
  const status = error.code === sent.code ? response.status : codeToHttpStatus(error.code);
  const bytes = errorToJsonBytes(error, undefined);
  const header = new Headers(response.header);
  header.set("content-length", String(bytes.byteLength));
  return { ...response, header, status, body: createAsyncIterable([bytes]) };
}

function describeTrailer(trailer: Headers, describe: Describe): void {
  const error = findTrailerError(trailer);
  if (error !== undefined) setTrailerStatus(trailer, describe(error));
}

/** In gRPC-Web the trailer is a part of the body, marked by a flag. */
function describeWebTrailer(part: Uint8Array, describe: Describe): Uint8Array {
  if (!isFlagged(part, trailerFlag)) return part;
  const trailer = trailerParse(part.subarray(PREFIX_BYTES));
  describeTrailer(trailer, describe);
  return encodeEnvelope(trailerFlag, trailerSerialize(trailer));
}

function describeEndStream(part: Uint8Array, describe: Describe): Uint8Array {
  if (!isFlagged(part, endStreamFlag)) return part;
  const { metadata, error } = endStreamFromJson(part.subarray(PREFIX_BYTES));
  if (error === undefined) return part;
  return encodeEnvelope(endStreamFlag, endStream.serialize({ metadata, error: describe(error) }));
}

/** An error without details was made by Connect: the interceptor has described those of handlers. */
function described(error: ConnectError, fieldsOf: FieldsOfKind | undefined): ConnectError {
  return withErrorInfo(error.findDetails(ErrorInfoSchema).length > 0 ? error : asRequestFault(error), fieldsOf);
}

function isFlagged(part: Uint8Array, flag: number): boolean {
  return ((part[0] ?? 0) & flag) === flag;
}

function unchanged(part: Uint8Array): Uint8Array {
  return part;
}
