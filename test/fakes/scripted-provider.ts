import { DomainError } from "../../internal/base/errors.ts";
import { SignalBus } from "../../internal/base/signal-bus.ts";
import type {
  AgentEvent,
  AgentInput,
  Capability,
  InputOutcome,
  Provider,
  ProviderHealth,
  SessionConfig,
  SessionHandle,
} from "../../internal/bridge/provider.ts";

/** One agent of a `ScriptedProvider`: the test makes its events, and it records its inputs. */
export class ScriptedAgent implements SessionHandle {
  readonly id: string;
  readonly pid = 0;
  readonly config: SessionConfig;
  readonly inputs: AgentInput[] = [];
  readonly stops: number[] = [];
  /** The result of `send`, by default `submitted`. */
  outcome: InputOutcome = { outcome: "submitted", error: "" };
  /** While set, `send` waits for it. */
  hold: Promise<void> | undefined;
  /** It ignores requests to end. */
  ignoresStop = false;
  readonly #events: AgentEvent[] = [];
  readonly #woken = new SignalBus();

  constructor(config: SessionConfig) {
    this.id = `${config.project}/${config.sessionId}`;
    this.config = config;
  }

  say(...events: readonly AgentEvent[]): void {
    this.#events.push(...events);
    this.#woken.notify();
  }

  print(text: string, stream: "stdout" | "stderr" = "stdout"): void {
    this.say({ type: "output", stream, text });
  }

  end(error?: string): void {
    this.say({ type: "ended", error });
  }

  async *events(): AsyncGenerator<AgentEvent, void> {
    for (;;) {
      const next = this.#events.shift();
      if (next === undefined) await this.#woken.next(NEVER);
      else yield next;
      if (next?.type === "ended") return;
    }
  }
}

const NEVER = new AbortController().signal;

/** A provider without processes. By default an agent echoes its input. */
export class ScriptedProvider implements Provider {
  readonly id: string;
  readonly binary = "/bin/scripted";
  readonly capabilities: readonly Capability[];
  readonly agents: ScriptedAgent[] = [];
  health_: () => Promise<ProviderHealth> = async () => ({ available: true, error: "", version: "1.0" });
  /** While set, `start` waits for it. */
  startHold: Promise<void> | undefined;
  startError: DomainError | undefined;
  /** Called with each agent before `start` resolves. */
  onStart: (agent: ScriptedAgent) => void = () => {};

  constructor(id = "scripted", capabilities: readonly Capability[] = ["stdio"]) {
    this.id = id;
    this.capabilities = capabilities;
  }

  checkOptions(options: SessionConfig["options"]): void {
    const strange = Object.keys(options).find((name) => name !== "model");
    if (strange !== undefined) throw new DomainError("invalid", `${this.id} knows no option ${strange}`);
  }

  async start(config: SessionConfig, signal: AbortSignal): Promise<ScriptedAgent> {
    const agent = new ScriptedAgent(config);
    this.agents.push(agent);
    if (this.startHold) await this.startHold;
    signal.throwIfAborted();
    if (this.startError) throw this.startError;
    this.onStart(agent);
    return agent;
  }

  async send(handle: SessionHandle, input: AgentInput): Promise<InputOutcome> {
    const agent = this.#own(handle);
    agent.inputs.push(input);
    if (agent.hold) await agent.hold;
    if (agent.outcome.outcome === "submitted") agent.print(`you said: ${input.text}\n`);
    return agent.outcome;
  }

  async stop(handle: SessionHandle, graceMs: number): Promise<void> {
    const agent = this.#own(handle);
    agent.stops.push(graceMs);
    if (!agent.ignoresStop || graceMs === 0) agent.end();
  }

  events(handle: SessionHandle): AsyncIterable<AgentEvent> {
    return this.#own(handle).events();
  }

  health(): Promise<ProviderHealth> {
    return this.health_();
  }

  #own(handle: SessionHandle): ScriptedAgent {
    const own = this.agents.find((agent) => agent === handle);
    if (own === undefined) throw new DomainError("invalid", "not a handle of this provider");
    return own;
  }
}
