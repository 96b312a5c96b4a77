import type { AgentInput, SessionConfig } from "../../bridge/provider.ts";
import { COMMON_OPTIONS, RESUME } from "../conversation/agent-options.ts";
import type { AgentLink, Conversation, ProgramDialect } from "../conversation/conversation.ts";
import { answerDialog, type DialogAnswer, PERMISSION_MODE } from "../conversation/dialog-policy.ts";
import { Waiters } from "../conversation/waiters.ts";
import { type DemoLine, readDemoLine } from "./demo-stream.ts";

/** The demo agent, which needs no account: `demo-agent --stdio`. */
export const demoDialect: ProgramDialect = {
  id: "demo",
  options: { ...COMMON_OPTIONS, ...RESUME, ...PERMISSION_MODE },
  canResume: true,
  environment: {},
  argv: (configured, { options: { resume } }) => [
    ...configured,
    ...(resume === undefined ? [] : ["--resume", resume]),
    "--stdio",
  ],
  converse: (link, session) => new DemoConversation(link, session),
};

class DemoConversation implements Conversation {
  readonly #link: AgentLink;
  readonly #mode: DialogAnswer;
  readonly #ready = Promise.withResolvers<void>();
  readonly #taken = new Waiters<"submitted" | "queued">();
  /** Messages that the agent keeps for later. */
  readonly #kept = new Set<string>();
  #isReady = false;

  constructor(link: AgentLink, session: SessionConfig) {
    this.#link = link;
    this.#mode = session.options["permission_mode"] === "allow" ? "allow" : "deny";
  }

  open(): Promise<void> {
    return this.#ready.promise;
  }

  onLine(line: string): boolean {
    const read = readDemoLine(line);
    if (read !== undefined) this.#on(read);
    return read !== undefined;
  }

  async give(input: AgentInput, signal: AbortSignal): Promise<"submitted" | "queued"> {
    const taken = this.#taken.wait(input.requestId, signal);
    await this.#link.write({ type: "message", id: input.requestId, text: input.text });
    return taken;
  }

  kept(): readonly string[] {
    return [...this.#kept];
  }

  takesMessages(): boolean {
    return this.#isReady;
  }

  close(): void {
    this.#link.endInput();
  }

  #on(read: DemoLine): void {
    switch (read.type) {
      case "ready":
        this.#isReady = true;
        if (read.session !== "") this.#link.emit({ type: "session", id: read.session });
        this.#ready.resolve();
        return;
      case "taken":
        if (read.held) this.#kept.add(read.id);
        this.#taken.resolve(read.id, read.held ? "queued" : "submitted");
        return;
      case "started":
        this.#onStarted(read.id);
        return;
      case "done":
        if (this.#kept.size === 0) this.#link.emit({ type: "phase", state: "idle" });
        return;
      case "output":
        this.#link.emit({ type: "output", stream: "stdout", text: read.text });
        return;
      case "asks":
        this.#answer(read).catch(() => {});
        return;
    }
  }

  #onStarted(id: string): void {
    if (this.#kept.delete(id)) {
      this.#link.emit({ type: "input-settled", requestId: id, result: { outcome: "submitted", error: "" } });
    } else {
      this.#link.emit({ type: "phase", state: "busy" });
    }
  }

  /** The first choice allows; no choice denies. */
  #answer({ id, question }: Extract<DemoLine, { readonly type: "asks" }>): Promise<void> {
    const decision = answerDialog(this.#link, question, this.#mode);
    return this.#link.write({ type: "answer", id, choice: decision === "allow" ? 0 : -1 });
  }
}
