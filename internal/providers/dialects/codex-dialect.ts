import { codexArgs } from "../../agents/thread-tools.ts";
import { asText, type Json, objectAt } from "../../base/json-fields.ts";
import type { AgentInput, SessionConfig } from "../../bridge/provider.ts";
import { acceptOnly, COMMON_OPTIONS, MODEL, RESUME, SYSTEM_PROMPT } from "../conversation/agent-options.ts";
import type { AgentLink, Conversation, ProgramDialect } from "../conversation/conversation.ts";
import { conversationText } from "../conversation/conversation-text.ts";
import { answerDialog, PERMISSION_MODE } from "../conversation/dialog-policy.ts";
import { JsonRpcPeer } from "../conversation/json-rpc-peer.ts";
import { TurnPhase } from "../conversation/turn-phase.ts";
import { changedPaths, readCodexNotification } from "./codex-events.ts";
import { readCodexRequest } from "./codex-requests.ts";

/**
 * Codex's app-server (0.169.0): JSON-RPC over lines, one thread for many turns. A message sent while Codex is working
 * would steer the current turn, so it waits here for the turn's end.
 */
export const codexDialect: ProgramDialect = {
  id: "codex",
  options: {
    ...COMMON_OPTIONS,
    ...MODEL,
    ...RESUME,
    ...SYSTEM_PROMPT,
    ...PERMISSION_MODE,
    sandbox: acceptOnly("read-only", "workspace-write", "danger-full-access"),
  },
  canResume: true,
  environment: { prefixes: ["OPENAI_", "CODEX_", "AZURE_OPENAI_", "RUST_LOG"] },
  argv: (configured) => ["app-server", ...configured],
  threadTools: (tools) => ({ args: codexArgs(tools) }),
  converse: (link, session) => new CodexConversation(link, session.options),
};

/** The version that this client reports to Codex. */
const CLIENT_VERSION = "1";

class CodexConversation implements Conversation {
  readonly #link: AgentLink;
  readonly #options: SessionConfig["options"];
  readonly #phase: TurnPhase;
  readonly #rpc: JsonRpcPeer;
  #threadId = "";
  #turnId = "";
  /** The files that the current edit changes; the edit's request for approval does not name them. */
  #changes = "";

  constructor(link: AgentLink, options: SessionConfig["options"]) {
    this.#link = link;
    this.#options = options;
    this.#phase = new TurnPhase(link);
    const handlers = {
      request: (method: string, params: Json) => this.#onRequest(method, params),
      notification: (method: string, params: Json) => this.#onNotification(method, params),
    };
    this.#rpc = new JsonRpcPeer((message) => link.write(message), handlers, { version: false });
  }

  async open(signal: AbortSignal): Promise<void> {
    const clientInfo = { name: "gastown-bridge", title: "Gastown bridge", version: CLIENT_VERSION };
    await this.#rpc.request("initialize", { clientInfo }, signal);
    await this.#rpc.notify("initialized");
    const { model, sandbox, resume, system_prompt: developerInstructions } = this.#options;
    const settings = { cwd: this.#link.cwd(), model, sandbox, developerInstructions };
    const opened =
      resume === undefined
        ? await this.#rpc.request("thread/start", settings, signal)
        : await this.#rpc.request("thread/resume", { ...settings, threadId: resume, excludeTurns: true }, signal);
    this.#threadId = asText(objectAt(opened, "thread")["id"]);
    this.#link.emit({ type: "session", id: this.#threadId });
    this.#link.emit({ type: "output", stream: "stdout", text: conversationText(this.#threadId) });
  }

  onLine(line: string): boolean {
    return this.#rpc.onLine(line);
  }

  async give(input: AgentInput, signal: AbortSignal): Promise<"submitted"> {
    this.#phase.busy();
    const message = [{ type: "text", text: input.text }];
    try {
      const { turn } = await this.#rpc.request("turn/start", { threadId: this.#threadId, input: message }, signal);
      this.#turnId = asText(objectAt({ turn }, "turn")["id"]);
    } catch (err) {
      this.#phase.idle(true);
      throw err;
    }
    return "submitted";
  }

  kept(): readonly string[] {
    return [];
  }

  takesMessages(): boolean {
    return this.#threadId !== "" && !this.#phase.isBusy;
  }

  close(): void {
    const turn = { threadId: this.#threadId, turnId: this.#turnId };
    if (this.#phase.isBusy) this.#rpc.request("turn/interrupt", turn, AbortSignal.timeout(1000)).catch(() => {});
    this.#link.endInput();
  }

  #onNotification(method: string, params: Json): void {
    const item = objectAt(params, "item");
    if (item["type"] === "fileChange") this.#changes = changedPaths(item);
    for (const event of readCodexNotification(method, params, this.#threadId)) {
      switch (event.type) {
        case "output":
          this.#link.emit(event);
          break;
        case "turn-began":
          this.#turnId = event.turnId;
          this.#phase.busy();
          break;
        case "turn-ended":
          this.#phase.idle(event.hasFailed);
          break;
      }
    }
  }

  async #onRequest(method: string, params: Json): Promise<object | undefined> {
    const request = readCodexRequest(method, params, this.#changes);
    if (request === undefined) return undefined;
    const mode = this.#options["permission_mode"] === "allow" ? "allow" : "deny";
    return request.answers[answerDialog(this.#link, request.question, mode)];
  }
}
