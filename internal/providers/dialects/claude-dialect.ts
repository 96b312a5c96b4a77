import { randomUUID } from "node:crypto";
import type { DialogKind } from "../../agents/profile.ts";
import { CLAUDE_OWN_ENV } from "../../agents/programs/claude.ts";
import { claudeArgs } from "../../agents/thread-tools.ts";
import { DomainError } from "../../base/errors.ts";
import { plainText } from "../../base/sanitise.ts";
import type { AgentInput, SessionConfig } from "../../bridge/provider.ts";
import { acceptOnly, COMMON_OPTIONS, MODEL, RESUME, SYSTEM_PROMPT } from "../conversation/agent-options.ts";
import type { AgentLink, Conversation, ProgramDialect } from "../conversation/conversation.ts";
import { conversationText } from "../conversation/conversation-text.ts";
import { answerDialog, DENIED, type DialogAnswer } from "../conversation/dialog-policy.ts";
import { SLASH_COMMAND } from "../conversation/harmless-text.ts";
import { TurnPhase } from "../conversation/turn-phase.ts";
import { Waiters } from "../conversation/waiters.ts";
import { type ClaudeLine, readClaudeLine } from "./claude-stream.ts";

/** Claude Code's own modes; requests that it still makes in one of them are denied. */
const OWN_MODES = ["acceptEdits", "plan", "dontAsk", "bypassPermissions"];

/**
 * Claude Code in print mode with JSON lines both ways (2.1.197, 2.1.330): one process for many turns. Messages are
 * acknowledged by their UUID, and requests for permission come over the same pipes.
 */
export const claudeDialect: ProgramDialect = {
  id: "claude",
  options: {
    ...COMMON_OPTIONS,
    ...MODEL,
    ...RESUME,
    ...SYSTEM_PROMPT,
    permission_mode: acceptOnly("deny", "allow", ...OWN_MODES),
  },
  canResume: true,
  command: SLASH_COMMAND,
  environment: {
    names: ["CLOUD_ML_REGION", "API_TIMEOUT_MS", "USE_BUILTIN_RIPGREP"],
    prefixes: ["ANTHROPIC_", "CLAUDE_", "AWS_", "GOOGLE_", "VERTEX_", "DISABLE_", "BASH_", "MCP_", "MAX_"],
  },
  unset: CLAUDE_OWN_ENV,
  argv: (configured, session) => [
    ...["--print", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"],
    ...["--replay-user-messages", "--permission-prompt-tool", "stdio"],
    ...configured,
    ...sessionArgs(session.options),
  ],
  threadTools: (tools) => ({ args: claudeArgs(tools) }),
  converse: (link, session) => new ClaudeConversation(link, session),
};

function sessionArgs(options: SessionConfig["options"]): readonly string[] {
  const { model, resume, permission_mode: mode = "" } = options;
  return [
    ...(model === undefined ? [] : ["--model", model]),
    ...(resume === undefined ? [] : ["--resume", resume]),
    ...(OWN_MODES.includes(mode) ? ["--permission-mode", mode] : []),
  ];
}

class ClaudeConversation implements Conversation {
  readonly #link: AgentLink;
  readonly #options: SessionConfig["options"];
  readonly #phase: TurnPhase;
  readonly #answers = new Waiters<void>();
  readonly #taken = new Waiters<void>();
  /** Messages that the agent keeps until its turn allows them: request ids by UUID. */
  readonly #kept = new Map<string, string>();
  /** The UUID of the message that it was given last. */
  #lastGiven = "";
  #conversationId = "";
  #isInTurn = false;
  #isOpen = false;
  /** The agent reports the progress of each message, so it may be given messages while it is working. */
  #keepsMessages = false;

  constructor(link: AgentLink, session: SessionConfig) {
    this.#link = link;
    this.#options = session.options;
    this.#phase = new TurnPhase(link);
  }

  async open(signal: AbortSignal): Promise<void> {
    const prompt = this.#options["system_prompt"];
    await this.#request({ subtype: "initialize", appendSystemPrompt: prompt }, signal);
    this.#isOpen = true;
  }

  onLine(line: string): boolean {
    const read = readClaudeLine(line);
    for (const each of read ?? []) this.#on(each);
    return read !== undefined;
  }

  async give(input: AgentInput, signal: AbortSignal): Promise<"submitted" | "queued"> {
    const uuid = randomUUID();
    const isKept = this.#phase.isBusy;
    if (isKept) this.#kept.set(uuid, input.requestId);
    this.#lastGiven = uuid;
    this.#phase.busy();
    const taken = this.#taken.wait(uuid, signal);
    const message = { role: "user", content: [{ type: "text", text: input.text }] };
    try {
      await this.#link.write({ type: "user", message, uuid, session_id: "", parent_tool_use_id: null });
    } catch (err) {
      this.#kept.delete(uuid);
      if (!this.#isInTurn) this.#idleUnlessKept(true);
      throw err;
    }
    await taken;
    return isKept ? "queued" : "submitted";
  }

  takesMessages(): boolean {
    return this.#isOpen && (!this.#phase.isBusy || this.#keepsMessages);
  }

  kept(): readonly string[] {
    return [...this.#kept.values()];
  }

  close(): void {
    const interrupt = { type: "control_request", request_id: randomUUID(), request: { subtype: "interrupt" } };
    if (this.#phase.isBusy) this.#link.write(interrupt).catch(() => {});
    this.#link.endInput();
  }

  #on(read: ClaudeLine): void {
    switch (read.type) {
      case "output":
        this.#link.emit({ ...read, stream: "stdout" });
        return;
      case "conversation":
        this.#onConversation(read.id);
        return;
      case "turn-began":
        this.#isInTurn = true;
        this.#phase.busy();
        return;
      case "turn-ended":
        this.#isInTurn = false;
        this.#idleUnlessKept(read.hasFailed);
        return;
      case "kept":
        this.#keepsMessages = true;
        this.#taken.resolve(read.uuid);
        return;
      case "begun":
        this.#onBegun(read.uuid);
        return;
      case "dropped":
        this.#onDropped(read.uuid, read.how);
        return;
      case "answered":
        this.#onAnswer(read.requestId, read.error);
        return;
      case "asks":
        this.#answer(read).catch(() => {});
        return;
      case "unknown-request":
        this.#link.write(refusal(read.requestId)).catch(() => {});
        return;
    }
  }

  /** The agent reports the id at each turn. */
  #onConversation(id: string): void {
    if (id === this.#conversationId) return;
    this.#conversationId = id;
    this.#link.emit({ type: "session", id: id });
    this.#link.emit({ type: "output", stream: "stdout", text: conversationText(id) });
  }

  #onBegun(uuid: string): void {
    this.#taken.resolve(uuid);
    const requestId = this.#kept.get(uuid);
    if (requestId === undefined) return;
    this.#kept.delete(uuid);
    this.#link.emit({ type: "input-settled", requestId, result: { outcome: "submitted", error: "" } });
  }

  #onDropped(uuid: string, how: string): void {
    const error = `claude has ${how} the message`;
    this.#taken.reject(uuid, new DomainError("unavailable", error));
    const requestId = this.#kept.get(uuid);
    if (requestId !== undefined) {
      this.#kept.delete(uuid);
      this.#link.emit({ type: "input-settled", requestId, result: { outcome: "unknown", error } });
    }
    // The message of a failed turn is reported as cancelled, perhaps after the next message was given.
    const isOfAnEarlierTurn = requestId === undefined && uuid !== this.#lastGiven;
    if (!this.#isInTurn && !isOfAnEarlierTurn) this.#idleUnlessKept(true);
  }

  /** A message that the agent has kept begins when the turn is over. */
  #idleUnlessKept(hasFailed: boolean): void {
    if (this.#kept.size === 0) this.#phase.idle(hasFailed);
  }

  #onAnswer(requestId: string, error: string | undefined): void {
    if (error === undefined) this.#answers.resolve(requestId);
    else this.#answers.reject(requestId, new DomainError("precondition", `claude refused: ${plainText(error)}`));
  }

  async #request(request: object, signal: AbortSignal): Promise<void> {
    const requestId = randomUUID();
    const answered = this.#answers.wait(requestId, signal);
    await this.#link.write({ type: "control_request", request_id: requestId, request });
    await answered;
  }

  #answer({ requestId, tool, input, text }: Extract<ClaudeLine, { readonly type: "asks" }>): Promise<void> {
    const mode: DialogAnswer = this.#options["permission_mode"] === "allow" ? "allow" : "deny";
    const question = { kind: KINDS[tool] ?? "permission", title: `Use ${tool}?`, text, choices: ["Allow", "Deny"] };
    const decision = answerDialog(this.#link, question, mode);
    const response =
      decision === "allow" ? { behavior: "allow", updatedInput: input } : { behavior: "deny", message: DENIED };
    const answer = { subtype: "success", request_id: requestId, response };
    return this.#link.write({ type: "control_response", response: answer });
  }
}

const KINDS: Readonly<Record<string, DialogKind>> = { AskUserQuestion: "question", ExitPlanMode: "plan" };

function refusal(requestId: string): object {
  const response = { subtype: "error", request_id: requestId, error: "this client does not support such requests" };
  return { type: "control_response", response };
}
