import type { MsgHdrs } from "@nats-io/transport-node";
import { type JsonObject, writeJson } from "../acp/json-text.ts";
import type { Bus } from "../nats/bus.ts";
import { natsHeaders, publishPlain } from "../nats/publish.ts";

/** The longest text of one message, in UTF-16 units: as JSON it fits into a message of NATS. */
const PIECE = 64 * 1024;
/** The longest error in a header. */
const MAX_ERROR = 500;

/** The messages that answer one prompt. They are lost while NATS is not connected. */
export class ServiceReplies {
  readonly #bus: Bus;
  readonly #reply: string;

  constructor(bus: Bus, reply: string) {
    this.#bus = bus;
    this.#reply = reply;
  }

  /** Reports that the prompt is being worked on, with the work's id. */
  ack(id: string): void {
    this.#send({ type: "status", data: "ack", id });
  }

  text(text: string): void {
    for (const piece of piecesOf(text)) this.#send({ type: "response", data: piece });
  }

  query(id: string, replySubject: string, prompt: string): void {
    this.#send({ type: "query", data: { id, reply_subject: replySubject, prompt } });
  }

  error(code: 400 | 500, message: string, details: JsonObject = {}): void {
    const headers = {
      "Nats-Service-Error-Code": String(code),
      "Nats-Service-Error": message.replace(/[^\x20-\x7e]+/g, " ").slice(0, MAX_ERROR),
    };
    this.#send({ error: message, ...details }, natsHeaders(headers));
  }

  /** Ends the answer with an empty message. It has no headers, so it is not signed. */
  end(): void {
    if (this.#bus.isConnected) this.#bus.nc.publish(this.#reply, "");
  }

  #send(body: JsonObject, headers?: MsgHdrs): void {
    if (this.#bus.isConnected) publishPlain(this.#bus, { subject: this.#reply, body: writeJson(body) }, headers);
  }
}

/** Cuts a text into pieces, none of them within a character. @internal */
export function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const isWithin = /[\ud800-\udbff]/.test(text[at + PIECE - 1] ?? "");
    const end = at + PIECE - (isWithin ? 1 : 0);
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}
