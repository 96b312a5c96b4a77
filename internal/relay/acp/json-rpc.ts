import { type ExactJson, isObject, type JsonObject, member, readJson, writeJson } from "./json-text.ts";

type RpcId = string | number | null;

/** A frame of JSON-RPC 2.0. Its JSON values are unchanged and complete. */
export type RpcFrame =
  | {
      readonly type: "request";
      readonly id: string | number;
      readonly method: string;
      readonly params: ExactJson | undefined;
    }
  | { readonly type: "notification"; readonly method: string; readonly params: ExactJson | undefined }
  | { readonly type: "result"; readonly id: RpcId; readonly result: ExactJson }
  | { readonly type: "error"; readonly id: RpcId; readonly error: ExactJson }
  /** The response is an error with `code`. */
  | { readonly type: "invalid"; readonly id: RpcId; readonly code: -32700 | -32600; readonly message: string };

export const METHOD_NOT_FOUND = -32601;

/** Reads one frame. A batch is `invalid`. */
export function readFrame(text: string): RpcFrame {
  const value = readJson(text);
  if (value === undefined) return { type: "invalid", id: null, code: -32700, message: "the frame is not JSON" };
  if (!isObject(value)) return invalid(null, "a frame is one JSON-RPC object");
  const id = member(value, "id");
  const known = isId(id) ? id : null;
  if (member(value, "jsonrpc") !== "2.0") return invalid(known, 'jsonrpc must be "2.0"');
  if (id !== undefined && !isId(id)) return invalid(null, "an id is a string or a number");
  const method = member(value, "method");
  if (method !== undefined) return callOf(value, method, id);
  return responseOf(value, id);
}

/** The text of an error response. */
export function errorFrame(id: RpcId, code: number, message: string): string {
  return writeJson({ jsonrpc: "2.0", id, error: { code, message } });
}

function callOf(value: JsonObject, method: ExactJson, id: RpcId | undefined): RpcFrame {
  if (typeof method !== "string") return invalid(id ?? null, "a method is a string");
  if (member(value, "result") !== undefined || member(value, "error") !== undefined) {
    return invalid(id ?? null, "a request has no result and no error");
  }
  const params = member(value, "params");
  if (id === undefined) return { type: "notification", method, params };
  if (id === null) return invalid(null, "the id of a request is a string or a number");
  return { type: "request", id, method, params };
}

function responseOf(value: JsonObject, id: RpcId | undefined): RpcFrame {
  const [result, error] = [member(value, "result"), member(value, "error")];
  if (id === undefined) return invalid(null, "a frame has a method or an id");
  if ((result === undefined) === (error === undefined)) return invalid(id, "a response has a result or an error");
  return result === undefined ? { type: "error", id, error: error ?? null } : { type: "result", id, result };
}

function invalid(id: RpcId, message: string): RpcFrame {
  return { type: "invalid", id, code: -32600, message };
}

function isId(id: ExactJson | undefined): id is RpcId {
  return id === null || typeof id === "string" || typeof id === "number";
}
