import { DomainError } from "../../base/errors.ts";
import { asText, type Json, objectAt, parseObject } from "../../base/json-fields.ts";
import { plainText } from "../../base/sanitise.ts";
import { Waiters } from "./waiters.ts";

const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;
const MAX_REASON_CHARS = 300;

export interface RpcHandlers {
  /** Answers a request of the agent; undefined: the method is unknown. */
  request(method: string, params: Json): Promise<object | undefined>;
  notification(method: string, params: Json): void;
}

/** One end of JSON-RPC over lines. */
export class JsonRpcPeer {
  readonly #write: (message: object) => Promise<void>;
  readonly #handlers: RpcHandlers;
  readonly #version: { readonly jsonrpc?: "2.0" };
  readonly #answers = new Waiters<Json>();
  #lastId = 0;

  /** `version`: whether messages contain `jsonrpc`. */
  constructor(
    write: (message: object) => Promise<void>,
    handlers: RpcHandlers,
    { version }: { readonly version: boolean },
  ) {
    this.#write = write;
    this.#handlers = handlers;
    this.#version = version ? { jsonrpc: "2.0" } : {};
  }

  /**
   * Resolves with the result; with an empty object if the result is not an object.
   * @throws DomainError `precondition` with the agent's reason when it refuses, or the signal's reason
   */
  async request(method: string, params: object, signal: AbortSignal): Promise<Json> {
    const id = ++this.#lastId;
    const answer = this.#answers.wait(String(id), signal);
    await this.#write({ ...this.#version, id, method, params });
    return answer;
  }

  notify(method: string, params?: object): Promise<void> {
    return this.#write({ ...this.#version, method, params });
  }

  /** False for a line that is not a message. */
  onLine(line: string): boolean {
    const message = parseObject(line);
    if (message === undefined) return false;
    const { id, method } = message;
    if (typeof method === "string") this.#onCall(id, method, objectAt(message, "params"));
    else if (typeof id === "number" || typeof id === "string") this.#onAnswer(String(id), message);
    else return false;
    return true;
  }

  #onCall(id: unknown, method: string, params: Json): void {
    if (id === undefined) this.#handlers.notification(method, params);
    else this.#answer(id, method, params).catch(() => {});
  }

  async #answer(id: unknown, method: string, params: Json): Promise<void> {
    let reply: object;
    try {
      const result = await this.#handlers.request(method, params);
      reply = result === undefined ? refusal(METHOD_NOT_FOUND, `no method ${method}`) : { result };
    } catch {
      reply = refusal(INTERNAL_ERROR, "internal error");
    }
    await this.#write({ ...this.#version, id, ...reply });
  }

  #onAnswer(id: string, message: Json): void {
    if (message["error"] === undefined) this.#answers.resolve(id, objectAt(message, "result"));
    else this.#answers.reject(id, refused(objectAt(message, "error")));
  }
}

function refusal(code: number, message: string): object {
  return { error: { code, message } };
}

function refused(error: Json): DomainError {
  const reason = plainText(asText(error["message"])).replaceAll("\n", " ").slice(0, MAX_REASON_CHARS);
  const details = plainText(asText(objectAt(error, "data")["details"]))
    .replaceAll("\n", " ")
    .slice(0, MAX_REASON_CHARS);
  const said = [reason, details].filter((text) => text !== "").join(": ");
  return new DomainError("precondition", `the agent refused: ${said || "no reason was given"}`);
}
