import { raceSignal } from "../../base/abort.ts";
import { DomainError } from "../../base/errors.ts";
import type { RpcFrame } from "./json-rpc.ts";
import { type ExactJson, isObject, member, writeJson } from "./json-text.ts";

type Response = RpcFrame & { readonly type: "result" | "error" };

/** The peer answered a call with an error. */
export class RpcFailure extends DomainError {
  /** The `error` member of the response, unchanged. */
  readonly error: ExactJson;

  constructor(method: string, error: ExactJson) {
    const message = isObject(error) ? member(error, "message") : undefined;
    super("unavailable", `${method}: ${typeof message === "string" ? message : "the agent answered with an error"}`);
    this.error = error;
  }
}

/** The peer's result of a call violates its protocol. */
export class ProtocolViolation extends DomainError {
  constructor(message: string) {
    super("unavailable", message);
  }
}

/** Calls that the peer has not answered. Their ids are numbers that this class assigns. */
export class RpcCalls {
  readonly #open = new Map<number, (frame: Response) => void>();
  readonly #send: (text: string) => void;
  #next = 1;

  constructor(send: (text: string) => void) {
    this.#send = send;
  }

  /**
   * Sends a request and returns its result. A response that comes after the signal is dropped.
   * @param onResult called when the result arrives, before any later frame is read
   * @throws RpcFailure if the response is an error; the signal's reason
   */
  async call(method: string, params: object, signal?: AbortSignal, onResult?: () => void): Promise<ExactJson> {
    const id = this.#next++;
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.#open.set(id, (frame) => {
      if (frame.type === "result") onResult?.();
      resolve(frame);
    });
    this.#send(writeJson({ jsonrpc: "2.0", id, method, params }));
    const frame = await (signal === undefined ? promise : raceSignal(promise, signal)).finally(() => {
      this.#open.delete(id);
    });
    if (frame.type === "error") throw new RpcFailure(method, frame.error);
    return frame.result;
  }

  notify(method: string, params: object): void {
    this.#send(writeJson({ jsonrpc: "2.0", method, params }));
  }

  /** Settles the call that a response answers. False: no call with this id is open. */
  settle(frame: Response): boolean {
    if (typeof frame.id !== "number") return false;
    const resolve = this.#open.get(frame.id);
    this.#open.delete(frame.id);
    resolve?.(frame);
    return resolve !== undefined;
  }
}
