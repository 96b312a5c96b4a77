import type { WebSocket } from "ws";
import { errorFrame, type RpcFrame, readFrame } from "../acp/json-rpc.ts";
import { FAILED } from "./editor-answer.ts";

/** An editor that sends this many refused frames before `initialize` is disconnected. */
const MOST_REFUSED = 20;

type Listener = (...args: unknown[]) => void;

/** The error for a frame that comes before `initialize`. Undefined: it is `initialize`, or needs no answer. */
export function refusalBeforeInitialize(frame: RpcFrame): string | undefined {
  if (frame.type === "invalid") return errorFrame(frame.id, frame.code, frame.message);
  return frame.type !== "request" || isInitialize(frame)
    ? undefined
    : errorFrame(frame.id, FAILED, "initialize comes first");
}

/**
 * An editor's socket for the library, which does not answer requests before `initialize` but closes the connection.
 * Answers them with an error, and passes everything else on.
 */
export class InitializedSocket {
  readonly #socket: WebSocket;
  readonly #listeners = new Map<Listener, Listener>();
  #isInitialized = false;
  #refused = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  get bufferedAmount(): number {
    return this.#socket.bufferedAmount;
  }

  send(text: string): void {
    this.#socket.send(text);
  }

  close(code?: number, reason?: string): void {
    this.#socket.close(code, reason);
  }

  on(type: string, listener: Listener): void {
    const onMessage: Listener = (data, isBinary) => {
      if (isBinary === true || !this.#refuses(String(data))) listener(data, isBinary);
    };
    const heard = type === "message" ? onMessage : listener;
    this.#listeners.set(listener, heard);
    this.#socket.on(type, heard);
  }

  off(type: string, listener: Listener): void {
    this.#socket.off(type, this.#listeners.get(listener) ?? listener);
    this.#listeners.delete(listener);
  }

  #refuses(text: string): boolean {
    if (this.#isInitialized) return false;
    const frame = readFrame(text);
    this.#isInitialized = isInitialize(frame);
    const refusal = refusalBeforeInitialize(frame);
    if (refusal === undefined) return false;
    this.#socket.send(refusal);
    if (++this.#refused === MOST_REFUSED) this.#socket.close(1002, "initialize comes first");
    return true;
  }
}

function isInitialize(frame: RpcFrame): boolean {
  return frame.type === "request" && frame.method === "initialize";
}
