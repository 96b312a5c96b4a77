import { type KeyObject, randomUUID } from "node:crypto";
import { raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { AllowedFiles, AllowList } from "../../files/allowed-files.ts";
import { runTurn } from "../engine/engine.ts";
import { type QueuedTurns, ThreadTurns, type TurnCapacity } from "../engine/thread-turns.ts";
import { type FileRead, FileTool } from "../tools/file-tool.ts";
import type { HalfAgent } from "../tools/half-agent.ts";
import { ANSWER_BYTES, checkDeskText, cutText, THREAD_NAME } from "../tools/text-bounds.ts";
import { answerNode } from "./answer-node.ts";
import type { BackEvent } from "./back-event.ts";
import type { BackJournal } from "./back-journal.ts";
import type { TurnOutcome } from "./back-records.ts";
import { BridgeRefusal } from "./bridge-checks.ts";
import { type BridgeDeps, bridgeNode } from "./bridge-node.ts";
import { type Classifier, classifyNode } from "./classify.ts";
import { type GlobalState, globalChannels, globalState, type Intent } from "./global-state.ts";

/** The configuration at the start of a turn. */
export interface BackSettings {
  readonly classify: Classifier;
  readonly allowed: AllowList;
  readonly limits: TurnCapacity & { readonly inputBytes: number; readonly turnMs: number };
}

export interface BackDeps {
  readonly clock: Clock;
  readonly journal: BackJournal;
  readonly agent: HalfAgent;
  readonly files: AllowedFiles;
  readonly key: KeyObject;
  readonly bridge: Pick<BridgeDeps, "ready" | "deliver">;
  readonly settings: () => BackSettings;
}

/** One input of the administrator. */
export interface BackInput {
  readonly text: string;
  readonly thread: string;
  /** The thread of the customer's half to which a text is routed. */
  readonly to: string;
}

type Emit = (event: BackEvent) => void;

/** The administrator's half: classifies a text, then answers it or lets the bridge deliver it. Records each turn. */
export class Back {
  readonly #deps: BackDeps;
  readonly #threads: ThreadTurns;

  constructor(deps: BackDeps) {
    this.#deps = deps;
    this.#threads = new ThreadTurns((thread) => {
      const at = new Date(deps.clock.now()).toISOString();
      deps.journal.append({ type: "forgotten", turn: randomUUID(), at, thread });
      deps.agent.forget(thread);
    });
    for (const thread of deps.journal.threads) this.#threads.know(thread, false);
  }

  /**
   * Runs one turn. Its events end with `turn_end`, whose outcome is returned.
   * @throws DomainError `unavailable` when the journal cannot be written; the turn's events are then not reliable
   */
  async turn(input: BackInput, emit: Emit, signal: AbortSignal): Promise<TurnOutcome> {
    const turn = randomUUID();
    const settings = this.#deps.settings();
    let place: QueuedTurns;
    try {
      checkInput(input, settings);
      place = this.#threads.enter(input.thread, settings.limits);
    } catch (err) {
      if (isOfJournal(err)) throw err;
      emit({ type: "refused", reason: err instanceof DomainError ? err.message : "internal error" });
      return ended(emit, turn, "refused");
    }
    using held = place;
    return await held.inTurn(() => new BackTurn(this.#deps, settings, input, turn, emit).run(signal));
  }
}

function isOfJournal(err: unknown): boolean {
  return err instanceof DomainError && err.fields["reason"] === "journal";
}

function checkInput({ text, thread, to }: BackInput, { limits }: BackSettings): void {
  checkDeskText(text, limits.inputBytes);
  for (const name of [thread, to]) {
    if (!THREAD_NAME.test(name)) throw new DomainError("invalid", "a thread's name is [A-Za-z0-9._-]{1,64}");
  }
}

function ended(emit: Emit, turn: string, outcome: TurnOutcome): TurnOutcome {
  emit({ type: "turn_end", turn, outcome });
  return outcome;
}

/** The run of one turn. */
class BackTurn {
  readonly #deps: BackDeps;
  readonly #settings: BackSettings;
  readonly #input: BackInput;
  readonly #turn: string;
  readonly #emit: Emit;
  #failure: string | undefined;
  #isCrossing = false;

  constructor(deps: BackDeps, settings: BackSettings, input: BackInput, turn: string, emit: Emit) {
    this.#deps = deps;
    this.#settings = settings;
    this.#input = input;
    this.#turn = turn;
    this.#emit = emit;
  }

  async run(signal: AbortSignal): Promise<TurnOutcome> {
    const { journal, clock } = this.#deps;
    const { text, thread } = this.#input;
    journal.append({ type: "turn", turn: this.#turn, at: new Date(clock.now()).toISOString(), thread, input: text });
    const begun = globalState(text, journal.historyOf(thread));
    const limit = AbortSignal.timeout(this.#settings.limits.turnMs);
    let state: GlobalState | undefined;
    let outcome: TurnOutcome;
    try {
      const step = { turn: this.#turn, signal: AbortSignal.any([signal, limit]) };
      state = await this.#ended(runTurn(this.#graph(), begun, step), step.signal);
      outcome = this.#outcomeOf(state);
    } catch (err) {
      const cut = signal.aborted ? "interrupted" : limit.aborted ? "agent unavailable" : undefined;
      outcome = this.#failed(err, cut);
    }
    this.#record(state ?? begun, outcome);
    return ended(this.#emit, this.#turn, outcome);
  }

  /** A cut turn ends at once, unless its text is crossing: then the bridge first reports the outcome. */
  async #ended(running: Promise<GlobalState>, signal: AbortSignal): Promise<GlobalState> {
    try {
      return await raceSignal(running, signal);
    } catch (err) {
      if (this.#isCrossing) return await running;
      throw err;
    }
  }

  #graph() {
    const { agent, key, clock, bridge } = this.#deps;
    const { thread, to } = this.#input;
    const openFiles = (onText: (path: string, text: string) => void) =>
      new FileTool(this.#deps.files, this.#settings.allowed, (read) => this.#onRead(read, onText));
    const answer = answerNode(agent, thread, openFiles);
    const deliver = bridgeNode({ ...bridge, clock, key, ...this.#bridgeHooks() }, to);
    return {
      channels: globalChannels,
      first: classifyNode(this.#settings.classify, (intent) => this.#onDecided(intent)),
      edge: {
        reads: ["intent"] as const,
        to: { answer, customer: deliver },
        guarded: ["customer"],
        choose: ({ intent }: Pick<GlobalState, "intent">) => intent?.route ?? "answer",
      },
    };
  }

  #bridgeHooks(): Pick<BridgeDeps, "maxBytes" | "onIntended" | "onOutcome" | "onReplyFailed"> {
    const { journal } = this.#deps;
    const turn = this.#turn;
    return {
      maxBytes: this.#settings.limits.inputBytes,
      onReplyFailed: (reason) => this.#emit({ type: "error", reason: `the customer's turn: ${reason}` }),
      onIntended: ({ id, thread, bytes, sha256 }) => {
        journal.append({ type: "intended", turn, crossing: id, thread, bytes, sha256 });
        this.#isCrossing = true;
      },
      onOutcome: ({ id, thread, bytes, sha256 }, outcome, reason) => {
        journal.append({ type: "receipt", turn, crossing: id, outcome, reason });
        if (outcome === "REFUSED") {
          this.#failure = reason;
          this.#emit({ type: "refused", reason: reason ?? "refused" });
        } else this.#emit({ type: "crossed", crossing_id: id, thread, bytes, sha256, outcome });
      },
    };
  }

  #onDecided({ route, rule, reason }: Intent): void {
    this.#deps.journal.append({ type: "decision", turn: this.#turn, route, rule, reason });
    this.#emit({ type: "decision", route, rule, reason });
  }

  #onRead({ path, result }: FileRead, onText: (path: string, text: string) => void): void {
    const facts = result.ok ? { ok: true, bytes: result.bytes } : { ok: false, reason: result.reason };
    this.#deps.journal.append({ type: "read", turn: this.#turn, path, ...facts });
    this.#emit({ type: "read", path, ...facts });
    if (result.ok) onText(path, result.text);
  }

  #outcomeOf({ intent, answer, crossing, reply }: GlobalState): TurnOutcome {
    if (intent?.route !== "customer") {
      this.#emit({ type: "answer", from: "supervisor", text: answer });
      return "done";
    }
    if (reply !== null) this.#emit({ type: "answer", from: "customer", text: reply });
    if (crossing?.outcome === "UNKNOWN") return "unknown";
    if (crossing?.outcome === "SUBMITTED") return "done";
    return this.#failure === "internal error" ? "failed" : "refused";
  }

  /** Reports why the turn failed. @throws an error of the journal, and any error that is a bug */
  #failed(err: unknown, cut: "interrupted" | "agent unavailable" | undefined): TurnOutcome {
    if (isOfJournal(err)) throw err;
    if (err instanceof BridgeRefusal) {
      this.#emit({ type: "refused", reason: err.message });
      return "refused";
    }
    if (!(err instanceof DomainError) && cut === undefined) throw err;
    this.#emit({ type: "error", reason: cut ?? (err instanceof DomainError ? err.message : "") });
    return "failed";
  }

  #record(state: GlobalState, outcome: TurnOutcome): void {
    const { journal } = this.#deps;
    const turn = this.#turn;
    const { reply, answer, crossing } = state;
    if (reply !== null) journal.append({ type: "reply", turn, text: cutText(reply, ANSWER_BYTES) });
    if (answer !== "") journal.append({ type: "answer", turn, text: cutText(answer, ANSWER_BYTES) });
    const kept = Object.entries(state).filter(([name]) => name !== "admin_input" || crossing === null);
    const withheld = kept.map(([channel, value]) => ({ channel, bytes: bytesOf(value) }));
    journal.append({ type: "end", turn, outcome, withheld });
  }
}

/** The size of a text, or of a value's JSON; 0 for an absent one. */
function bytesOf(value: unknown): number {
  if (value === null) return 0;
  return Buffer.byteLength(typeof value === "string" ? value : JSON.stringify(value));
}
