import type {
  AgentEvent,
  AgentInput,
  Capability,
  InputOutcome,
  Provider,
  ProviderHealth,
  SessionConfig,
  SessionHandle,
} from "../../bridge/provider.ts";
import type { SessionLedger } from "./session-ledger.ts";

/** A provider whose sessions are recorded in a ledger while they run. */
export class RecordedProvider implements Provider {
  readonly id: string;
  readonly binary: string;
  readonly capabilities: readonly Capability[];
  readonly #inner: Provider;
  readonly #ledger: SessionLedger;
  readonly #sessions = new WeakMap<SessionHandle, Pick<SessionConfig, "project" | "sessionId">>();

  constructor(inner: Provider, ledger: SessionLedger) {
    this.id = inner.id;
    this.binary = inner.binary;
    this.capabilities = inner.capabilities;
    this.#inner = inner;
    this.#ledger = ledger;
  }

  checkAllowed(options: SessionConfig["options"]): void {
    this.#inner.checkAllowed?.(options);
  }

  checkOptions(options: SessionConfig["options"]): void {
    this.#inner.checkOptions(options);
  }

  async start(config: SessionConfig, signal: AbortSignal): Promise<SessionHandle> {
    this.#ledger.begin(this.id, config);
    try {
      const handle = await this.#inner.start(config, signal);
      this.#sessions.set(handle, config);
      return handle;
    } catch (err) {
      this.#ledger.end(config);
      throw err;
    }
  }

  send(handle: SessionHandle, input: AgentInput, signal: AbortSignal): Promise<InputOutcome> {
    return this.#inner.send(handle, input, signal);
  }

  async stop(handle: SessionHandle, graceMs: number): Promise<void> {
    await this.#inner.stop(handle, graceMs);
    this.#end(handle);
  }

  async *events(handle: SessionHandle): AsyncGenerator<AgentEvent, void, undefined> {
    for await (const event of this.#inner.events(handle)) {
      if (event.type === "ended") this.#end(handle);
      yield event;
    }
  }

  health(signal: AbortSignal): Promise<ProviderHealth> {
    return this.#inner.health(signal);
  }

  #end(handle: SessionHandle): void {
    const session = this.#sessions.get(handle);
    if (session === undefined) return;
    this.#sessions.delete(handle);
    this.#ledger.end(session);
  }
}
