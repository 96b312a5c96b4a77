import type { AgentFactory } from "@agentclientprotocol/sdk/experimental/server";
import { SignalBus } from "../../base/signal-bus.ts";
import type { JsonObject } from "../acp/json-text.ts";

/** The two streams between an editor and its connection. */
export type EditorStream = Parameters<ReturnType<AgentFactory>["connect"]>[0];

type Writable = EditorStream["writable"];
type Message = Parameters<ReturnType<Writable["getWriter"]>["write"]>[0];

/** An editor gets no updates while more than this is unread, in bytes. */
const FULL_BYTES = 4 * 1024 * 1024;

/** Sends messages to an editor, in order. */
export class EditorOutput {
  /** Notifies when the output is no longer full. */
  readonly drained = new SignalBus();
  readonly #writer: ReturnType<Writable["getWriter"]>;
  #bytes = 0;

  constructor(writable: Writable) {
    this.#writer = writable.getWriter();
    this.#writer.closed.catch(() => {}); // the reader of the editor's messages sees the end
  }

  get isFull(): boolean {
    return this.#bytes > FULL_BYTES;
  }

  /** @param bytes the approximate length of the message as text */
  send(message: JsonObject, bytes = 256): void {
    this.#bytes += bytes;
    const written = () => {
      const wasFull = this.isFull;
      this.#bytes -= bytes;
      if (wasFull && !this.isFull) this.drained.notify();
    };
    // The SDK's type is a union of all ACP messages; updates of agents are passed unread.
    this.#writer.write(message as unknown as Message).then(written, written);
  }

  async close(): Promise<void> {
    await this.#writer.close().catch(() => {});
  }
}
