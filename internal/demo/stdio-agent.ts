import type { Clock } from "../base/clock.ts";
import type { TurnStep } from "./model.ts";
import type { DemoOptions } from "./options.ts";
import type { Outside } from "./outside.ts";
import { planTurn } from "./script.ts";
import { readStdioRequest, type StdioReply, type StdioRequest } from "./stdio-lines.ts";

export interface StdioAgentDeps {
  /** Input lines; the agent ends when they end. */
  readonly lines: AsyncIterable<string>;
  readonly write: (text: string) => void;
  readonly outside: Outside;
  readonly clock: Clock;
  /** The id of the agent's conversation. */
  readonly session: string;
}

type Message = Extract<StdioRequest, { readonly type: "message" }>;
type Ask = Extract<StdioReply, { readonly type: "asks" }>;

const LAST_CHOICE_DENIES = ["Yes", "Yes, and do not ask again", "No"];
const PROTOCOL = 1;

/** The demo agent without a terminal: messages and answers come in as JSON lines, its actions go out as JSON lines. */
export class StdioAgent {
  readonly #deps: StdioAgentDeps;
  readonly #options: DemoOptions;
  readonly #messages: Message[] = [];
  readonly #exited = Promise.withResolvers<number>();
  #answer: ((choice: number) => void) | undefined;
  #asked = 0;
  #isWorking = false;
  #isHung = false;
  #allowsAll = false;
  #random: number;

  constructor(deps: StdioAgentDeps, options: DemoOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#random = options.seed >>> 0;
  }

  /** Runs until its input ends; resolves with the exit code, or rejects with the signal's reason. */
  async run(signal: AbortSignal): Promise<number> {
    const onAbort = () => this.#exited.reject(signal.reason);
    signal.throwIfAborted();
    signal.addEventListener("abort", onAbort, { once: true });
    this.#exited.promise.catch(() => {});
    void this.#read(signal).catch((err) => this.#exited.reject(err));
    try {
      return await this.#exited.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { faults } = this.#options;
    if (faults.slowStartMs > 0) await this.#deps.clock.sleep(faults.slowStartMs, signal);
    this.#reply({ type: "ready", protocol: PROTOCOL, session: this.#deps.session });
    for await (const line of this.#deps.lines) {
      if (this.#isHung) continue;
      const request = readStdioRequest(line);
      if (request === undefined) this.#reply({ type: "error", text: "this line is not a request" });
      else if (request.type === "answer") this.#onAnswer(request.id, request.choice);
      else this.#onMessage(request, signal);
    }
    if (!this.#isHung) this.#exited.resolve(0);
  }

  #onAnswer(id: string, choice: number): void {
    if (id === `ask-${this.#asked}`) this.#answer?.(choice);
  }

  #onMessage(message: Message, signal: AbortSignal): void {
    this.#reply({ type: "taken", id: message.id, held: this.#isWorking });
    this.#messages.push(message);
    if (!this.#isWorking) void this.#work(signal).catch((err) => this.#exited.reject(err));
  }

  async #work(signal: AbortSignal): Promise<void> {
    this.#isWorking = true;
    let via: "direct" | "queue" = "direct";
    for (let message = this.#messages.shift(); message !== undefined; message = this.#messages.shift()) {
      await this.#turn(message, via, signal);
      via = "queue";
    }
    this.#isWorking = false;
  }

  async #turn(message: Message, via: "direct" | "queue", signal: AbortSignal): Promise<void> {
    const { faults, steps, turnMs } = this.#options;
    const { clock, outside } = this.#deps;
    this.#reply({ type: "started", id: message.id });
    outside.took(message.text, via, clock.now());
    if (faults.exitOn !== "" && message.text.includes(faults.exitOn)) this.#exited.resolve(faults.exitCode);
    if (faults.hangOn !== "" && message.text.includes(faults.hangOn)) this.#isHung = true;
    if (faults.garbage) this.#deps.write("%begin 1700000000 1 1\n\x1b]2;title\x07{not json\n");
    const plan = planTurn(message.text, steps, () => this.#chance());
    const pauseMs = Math.max(1, Math.floor(turnMs / plan.length));
    for (const step of plan) {
      await clock.sleep(pauseMs, signal);
      if (this.#isHung) return;
      await this.#perform(step);
    }
    this.#reply({ type: "done", id: message.id });
  }

  async #perform(step: TurnStep): Promise<void> {
    switch (step.type) {
      case "tool":
        this.#reply({ type: "tool", call: step.call, result: step.result });
        return;
      case "permission":
        await this.#permission(step.command);
        return;
      case "question": {
        const choice = await this.#ask("question", step.question, "", step.choices);
        this.#reply({ type: "tool", call: step.question, result: step.choices[choice] ?? "no answer" });
        return;
      }
      case "say":
        this.#reply({ type: "text", text: step.text });
        return;
      case "end":
        return;
    }
  }

  async #permission(command: string): Promise<void> {
    const choice = this.#allowsAll
      ? 0
      : await this.#ask("permission", "Allow this command?", command, LAST_CHOICE_DENIES);
    const isAllowed = choice === 0 || choice === 1;
    if (choice === 1) this.#allowsAll = true;
    if (isAllowed) this.#deps.outside.tool(command);
    const result = isAllowed ? "Allowed (the demo agent only writes it down)" : "Not allowed";
    this.#reply({ type: "tool", call: `Bash(${command})`, result });
  }

  async #ask(kind: Ask["kind"], title: string, text: string, choices: readonly string[]): Promise<number> {
    this.#asked++;
    this.#reply({ type: "asks", id: `ask-${this.#asked}`, kind, title, text, choices });
    const choice = await new Promise<number>((resolve) => {
      this.#answer = resolve;
    });
    this.#answer = undefined;
    return choice;
  }

  #chance(): number {
    this.#random = (Math.imul(this.#random, 1664525) + 1013904223) >>> 0;
    return this.#random / 2 ** 32;
  }

  #reply(reply: StdioReply): void {
    this.#deps.write(`${JSON.stringify(reply)}\n`);
  }
}
