import { OPENCODE_CONFIG, opencodeConfig } from "../../agents/thread-tools.ts";
import { DomainError, errorText } from "../../base/errors.ts";
import { asObjects, asText, type Json, objectAt } from "../../base/json-fields.ts";
import type { AgentInput, SessionConfig } from "../../bridge/provider.ts";
import { COMMON_OPTIONS, MODEL, RESUME } from "../conversation/agent-options.ts";
import type { AgentLink, Conversation, ProgramDialect } from "../conversation/conversation.ts";
import { conversationText } from "../conversation/conversation-text.ts";
import { answerDialog, PERMISSION_MODE } from "../conversation/dialog-policy.ts";
import { SLASH_COMMAND } from "../conversation/harmless-text.ts";
import { JsonRpcPeer } from "../conversation/json-rpc-peer.ts";
import { toolInputText } from "../conversation/tool-text.ts";
import { TurnPhase } from "../conversation/turn-phase.ts";
import { type AcpText, endAcpText, NO_TEXT, readAcpUpdate } from "./acp-updates.ts";

/** The agent is offered nothing of this machine: it reads files and runs commands by itself. */
const CAPABILITIES = { fs: { readTextFile: false, writeTextFile: false }, terminal: false };
const PROTOCOL_VERSION = 1;
/** Pages of sessions are ordered by their last change: this cursor is before all sessions, so its page is empty. */
const BEFORE_ALL = "0";

/**
 * OpenCode by the Agent Client Protocol (1.18.33): JSON-RPC over lines, one session for many turns. The protocol
 * answers a prompt only at the end of its turn; the answer to a later request proves that the prompt was taken. A
 * second prompt would be mixed into the current turn, so it waits here.
 */
export const opencodeDialect: ProgramDialect = {
  id: "opencode",
  options: { ...COMMON_OPTIONS, ...MODEL, ...RESUME, ...PERMISSION_MODE },
  canResume: true,
  command: SLASH_COMMAND,
  environment: {
    names: ["GEMINI_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "XAI_API_KEY", "DEEPSEEK_API_KEY", "GITHUB_TOKEN"],
    prefixes: ["OPENCODE_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_", "AZURE_", "AWS_", "GOOGLE_", "VERTEX_"],
  },
  argv: (configured) => ["acp", ...configured],
  threadTools: (tools, env) => ({ env: { [OPENCODE_CONFIG]: opencodeConfig(env[OPENCODE_CONFIG], tools) } }),
  converse: (link, session) => new OpencodeConversation(link, session.options),
};

class OpencodeConversation implements Conversation {
  readonly #link: AgentLink;
  readonly #options: SessionConfig["options"];
  readonly #phase: TurnPhase;
  readonly #rpc: JsonRpcPeer;
  #sessionId = "";
  #isOpen = false;
  #listsSessions = false;
  #text: AcpText = NO_TEXT;

  constructor(link: AgentLink, options: SessionConfig["options"]) {
    this.#link = link;
    this.#options = options;
    this.#phase = new TurnPhase(link);
    const handlers = {
      request: (method: string, params: Json) => this.#onRequest(method, params),
      notification: (method: string, params: Json) => this.#onNotification(method, params),
    };
    this.#rpc = new JsonRpcPeer((message) => link.write(message), handlers, { version: true });
  }

  async open(signal: AbortSignal): Promise<void> {
    const hello = { protocolVersion: PROTOCOL_VERSION, clientCapabilities: CAPABILITIES };
    const { agentCapabilities } = await this.#rpc.request("initialize", hello, signal);
    const sessions = objectAt({ agentCapabilities }, "agentCapabilities", "sessionCapabilities");
    this.#listsSessions = sessions["list"] !== undefined;
    const place = { cwd: this.#link.cwd(), mcpServers: [] };
    const { model, resume } = this.#options;
    if (resume === undefined) {
      this.#sessionId = asText((await this.#rpc.request("session/new", place, signal))["sessionId"]);
    } else {
      // `load` replays the whole conversation; nothing is passed on before the conversation is open.
      const method = sessions["resume"] === undefined ? "session/load" : "session/resume";
      await this.#rpc.request(method, { ...place, sessionId: resume }, signal).catch(notResumed(resume));
      this.#sessionId = resume;
    }
    if (model !== undefined) {
      const choice = { sessionId: this.#sessionId, configId: "model", value: model };
      await this.#rpc.request("session/set_config_option", choice, signal);
    }
    this.#isOpen = true;
    this.#link.emit({ type: "session", id: this.#sessionId });
    this.#say(conversationText(this.#sessionId));
  }

  onLine(line: string): boolean {
    return this.#rpc.onLine(line);
  }

  async give(input: AgentInput, signal: AbortSignal): Promise<"submitted"> {
    this.#phase.busy();
    const prompt = { sessionId: this.#sessionId, prompt: [{ type: "text", text: input.text }] };
    const over = new AbortController();
    const turn = this.#rpc.request("session/prompt", prompt, over.signal);
    const ended = turn.then(
      ({ stopReason }) => {
        const how = stopReason === "end_turn" ? "" : `ended: ${asText(stopReason)}`;
        this.#onTurnEnd(how, how !== "" && stopReason !== "max_tokens");
      },
      (err: unknown) => {
        this.#onTurnEnd(`failed: ${errorText(err)}`, true);
        throw err;
      },
    );
    await Promise.race([ended, this.#taken(signal)]);
    ended.catch(() => {});
    return "submitted";
  }

  kept(): readonly string[] {
    return [];
  }

  takesMessages(): boolean {
    return this.#isOpen && !this.#phase.isBusy;
  }

  close(): void {
    if (this.#phase.isBusy) this.#rpc.notify("session/cancel", { sessionId: this.#sessionId }).catch(() => {});
    this.#link.endInput();
  }

  /** Requests are read in order: an answer to this one, even a refusal, proves that the earlier ones were taken. */
  async #taken(signal: AbortSignal): Promise<void> {
    // Ask for the agent's own folder: for another folder it would start everything that a session needs.
    const none = { cwd: this.#link.cwd(), cursor: BEFORE_ALL };
    const [method, params] = this.#listsSessions ? ["session/list", none] : ["_gastown/ping", {}];
    try {
      await this.#rpc.request(method, params, signal);
    } catch (err) {
      if (signal.aborted || !(err instanceof DomainError) || err.kind !== "precondition") throw err;
    }
  }

  #onTurnEnd(how: string, hasFailed: boolean): void {
    const { state, text, modelChars } = endAcpText(this.#text);
    this.#text = state;
    this.#say(text, modelChars);
    if (how !== "") this.#say(`● The turn ${how}\n`);
    this.#phase.idle(hasFailed);
  }

  #onNotification(method: string, params: Json): void {
    if (method !== "session/update" || !this.#isOpen || params["sessionId"] !== this.#sessionId) return;
    const { state, text, modelChars } = readAcpUpdate(this.#text, objectAt(params, "update"));
    this.#text = state;
    this.#say(text, modelChars);
  }

  async #onRequest(method: string, params: Json): Promise<object | undefined> {
    if (method !== "session/request_permission") return undefined;
    const tool = objectAt(params, "toolCall");
    const options = asObjects(params["options"]);
    const question = {
      ...({ kind: "permission", title: `Allow ${asText(tool["kind"]) || "this"}?` } as const),
      text: toolInputText(objectAt(tool, "rawInput")) || asText(tool["title"]),
      choices: options.map((option) => asText(option["name"])),
    };
    const mode = this.#options["permission_mode"] === "allow" ? "allow" : "deny";
    const kind = answerDialog(this.#link, question, mode) === "allow" ? "allow_once" : "reject_once";
    const option = options.find((each) => each["kind"] === kind);
    if (option === undefined) return { outcome: { outcome: "cancelled" } };
    return { outcome: { outcome: "selected", optionId: asText(option["optionId"]) } };
  }

  #say(text: string, modelChars = 0): void {
    if (text !== "") this.#link.emit({ type: "output", stream: "stdout", text, modelChars: modelChars || undefined });
  }
}

function notResumed(id: string): (err: unknown) => never {
  return (err) => {
    if (!(err instanceof DomainError)) throw err;
    throw new DomainError(err.kind, `cannot continue conversation ${id}: ${err.message}`, { cause: err });
  };
}
