import { type BridgeClient, EventType, type SessionEvent } from "../../pkg/bridgeclient/index.ts";

export interface StartRequest {
  readonly sessionId: string;
  readonly repoPath: string;
  /** `claude`, `codex`, `opencode`, or another provider of the bridge. */
  readonly provider: string;
}

/** Called with each event of every session, in order and once; in this API it feeds the chat and the command line. */
export type AgentEventHandler = (event: SessionEvent) => void;

/** The agents of this API, which run behind a bridge; replaces a manager of child processes. */
export class AgentSessions {
  readonly #client: BridgeClient;
  readonly #projectId: string;
  readonly #onAgentEvent: AgentEventHandler;
  readonly #forwarded = new Set<string>();

  constructor(client: BridgeClient, projectId: string, onAgentEvent: AgentEventHandler) {
    this.#client = client;
    this.#projectId = projectId;
    this.#onAgentEvent = onAgentEvent;
  }

  async start({ sessionId, repoPath, provider }: StartRequest, signal: AbortSignal): Promise<void> {
    await this.#client.startSession({ projectId: this.#projectId, sessionId, repoPath, provider });
    this.#forward(sessionId, signal);
  }

  /** Forwards the events of the sessions that existed before this API was restarted. */
  async resume(signal: AbortSignal): Promise<void> {
    for (let pageToken = ""; ; ) {
      const page = await this.#client.listSessions({ pageToken }, { signal });
      for (const { sessionId } of page.sessions) this.#forward(sessionId, signal);
      pageToken = page.nextPageToken;
      if (pageToken === "") return;
    }
  }

  async send(sessionId: string, text: string): Promise<{ readonly accepted: boolean; readonly error: string }> {
    const { accepted, error } = await this.#client.session(sessionId).sendInput(text);
    return { accepted, error };
  }

  async stop(sessionId: string): Promise<void> {
    await this.#client.session(sessionId).stop();
  }

  async get(sessionId: string) {
    const { provider, repoPath, lastSeq, error } = await this.#client.session(sessionId).get();
    return { sessionId, provider, repoPath, lastSeq: Number(lastSeq), error };
  }

  /** Forwards the events of a session, only once however often the session is started. */
  #forward(sessionId: string, signal: AbortSignal): void {
    if (this.#forwarded.has(sessionId)) return;
    this.#forwarded.add(sessionId);
    this.#forwardEvents(sessionId, signal)
      .catch((err) => signal.aborted || console.error(`events of ${sessionId}:`, err))
      .finally(() => this.#forwarded.delete(sessionId));
  }

  /** Survives broken connections; the bridge stores this subscriber's position. */
  async #forwardEvents(sessionId: string, signal: AbortSignal): Promise<void> {
    for await (const event of this.#client.session(sessionId).events({ subscriberId: "http-control-plane", signal })) {
      if (event.type === EventType.BUFFER_OVERFLOW) console.warn(`events of ${sessionId} are missing`, event.gap);
      this.#onAgentEvent(event);
    }
  }
}
