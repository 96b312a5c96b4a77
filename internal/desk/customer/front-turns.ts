import { hash, randomUUID } from "node:crypto";
import { raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { AllowedFiles, AllowList } from "../../files/allowed-files.ts";
import { runTurn } from "../engine/engine.ts";
import { type QueuedTurns, ThreadTurns, type TurnCapacity } from "../engine/thread-turns.ts";
import { FileTool } from "../tools/file-tool.ts";
import type { HalfAgent } from "../tools/half-agent.ts";
import { ANSWER_BYTES, checkDeskText, cutText, THREAD_NAME } from "../tools/text-bounds.ts";
import { customerGraph } from "./customer-node.ts";
import type { FrontJournal } from "./front-journal.ts";
import type { Origin } from "./origin.ts";
import { type PublicReason, publicReason } from "./public-reason.ts";

/** The configuration of this side at the start of a turn. */
export interface FrontSettings {
  readonly allowed: AllowList;
  readonly limits: TurnCapacity & { readonly inputBytes: number; readonly turnMs: number };
}

export interface FrontDeps {
  readonly clock: Clock;
  readonly journal: FrontJournal;
  readonly agent: HalfAgent;
  readonly files: AllowedFiles;
  readonly settings: () => FrontSettings;
}

/** A step of a turn, for its caller. */
export type FrontEvent =
  | { readonly type: "read"; readonly path: string; readonly reason?: PublicReason | undefined }
  | { readonly type: "answer"; readonly text: string }
  | { readonly type: "failed"; readonly reason: PublicReason };

type Emit = (event: FrontEvent) => void;

/** A turn that is recorded and has not run yet. */
export interface BegunTurn extends Disposable {
  readonly turn: string;
  /** Runs the turn once those before it have ended; never rejects. */
  run(emit: Emit, signal: AbortSignal | undefined): Promise<void>;
}

/**
 * A thread's queue is this many times as long for crossings as for users, so that no number of users keeps a crossing
 * out.
 */
const FOR_CROSSINGS = 2;
/** The most recorded bytes of turns that wait or run; beyond it users get `busy`, crossings do not. */
const MAX_OPEN_BYTES = 32 * 1024 * 1024;
/** Limits an agent that reads in a loop. */
const MAX_READS = 256;

/** The turns of the customer's half, each recorded before it runs. */
export class FrontTurns {
  readonly #deps: FrontDeps;
  readonly #threads: ThreadTurns;

  constructor(deps: FrontDeps) {
    this.#deps = deps;
    this.#threads = new ThreadTurns((thread) => {
      const at = new Date(deps.clock.now()).toISOString();
      deps.journal.append({ type: "forgotten", turn: randomUUID(), at, thread });
      deps.agent.forget(thread);
    });
    for (const [thread, isBriefed] of deps.journal.threads) this.#threads.know(thread, isBriefed);
  }

  /** A user's turn. @throws DomainError `invalid`, `exhausted`, `unavailable`; nothing is recorded then */
  say(thread: string, text: string): BegunTurn {
    const settings = this.#deps.settings();
    checkDeskText(text, settings.limits.inputBytes);
    if (!THREAD_NAME.test(thread)) throw refused("invalid", "a thread's name is [A-Za-z0-9._-]{1,64}");
    if (this.#deps.journal.openBytes > MAX_OPEN_BYTES)
      throw new DomainError("exhausted", "too much text is waiting", { fields: { reason: "busy" } });
    const place = this.#threads.enter(thread, settings.limits);
    return this.#begin(place, settings, thread, { admin_input: null, user_input: text }, (turn, at) =>
      this.#deps.journal.append({ type: "say", turn, at, thread, user_input: text }),
    );
  }

  /**
   * A turn of the bridge; undefined if this crossing has already been recorded with this text.
   * @throws DomainError `denied` for a text that is not the origin's, `already-exists`, `exhausted`, `unavailable`
   */
  deliver({ id, thread, bytes, sha256 }: Origin, text: string): BegunTurn | undefined {
    const settings = this.#deps.settings();
    checkDeskText(text, settings.limits.inputBytes);
    if (Buffer.byteLength(text) !== bytes || hash("sha256", text, "hex") !== sha256)
      throw refused("denied", "the text is not the one that was signed");
    const known = this.#deps.journal.crossing(id);
    if (known?.sha256 === sha256) return undefined;
    if (known !== undefined) throw refused("already-exists", "the id has had another text");
    const { threads, queue } = settings.limits;
    // A briefed thread is a lasting one: users who begin more and more threads never displace it.
    const place = this.#threads.enter(thread, { threads, queue: queue * FOR_CROSSINGS }, true);
    return this.#begin(place, settings, thread, { admin_input: text, user_input: null }, (turn, at) =>
      this.#deps.journal.append({ type: "crossing", turn, at, thread, id, admin_input: text }),
    );
  }

  #begin(
    place: QueuedTurns,
    settings: FrontSettings,
    thread: string,
    input: { readonly admin_input: string | null; readonly user_input: string | null },
    record: (turn: string, at: string) => void,
  ): BegunTurn {
    const turn = randomUUID();
    try {
      record(turn, new Date(this.#deps.clock.now()).toISOString());
    } catch (err) {
      place[Symbol.dispose]();
      throw err;
    }
    const run: BegunTurn["run"] = (emit, signal) =>
      place.inTurn(async () => {
        const limit = AbortSignal.timeout(settings.limits.turnMs);
        try {
          const all = AbortSignal.any(signal ? [signal, limit] : [limit]);
          await this.#run({ turn, thread, input, settings }, emit, all);
        } catch (err) {
          const cut = limit.aborted ? "agent unavailable" : "interrupted";
          this.#failed(turn, signal?.aborted || limit.aborted ? cut : publicReason(err), emit);
        }
      });
    return { turn, run, [Symbol.dispose]: () => place[Symbol.dispose]() };
  }

  async #run(
    {
      turn,
      thread,
      input,
      settings,
    }: { turn: string; thread: string; settings: FrontSettings } & {
      readonly input: { readonly admin_input: string | null; readonly user_input: string | null };
    },
    emit: Emit,
    signal: AbortSignal,
  ): Promise<void> {
    const { journal, agent } = this.#deps;
    let reads = 0;
    const files = new FileTool(this.#deps.files, settings.allowed, ({ path, result }) => {
      if (++reads > MAX_READS) throw refused("exhausted", "too many reads in one turn");
      const facts = result.ok ? { ok: true, bytes: result.bytes } : { ok: false, reason: result.reason };
      journal.append({ type: "read", turn, path, ...facts });
      emit({ type: "read", path, reason: result.ok ? undefined : result.reason });
    });
    const begun = { ...input, history: [...journal.historyOf(thread)], answer: "" };
    const { answer } = await raceSignal(runTurn(customerGraph(agent, thread, files), begun, { turn, signal }), signal);
    if (answer !== "") journal.append({ type: "answer", turn, text: cutText(answer, ANSWER_BYTES) });
    journal.append({ type: "end", turn, outcome: "done" });
    emit({ type: "answer", text: answer });
  }

  #failed(turn: string, reason: PublicReason, emit: Emit): void {
    const outcome = reason === "interrupted" ? "interrupted" : "failed";
    try {
      this.#deps.journal.append({ type: "end", turn, outcome, reason });
    } catch {
      // The next start of the front ends the turn in the journal.
    }
    emit({ type: "failed", reason });
  }
}

function refused(kind: "invalid" | "denied" | "already-exists" | "exhausted", message: string): DomainError {
  return new DomainError(kind, message, { fields: { reason: "refused" } });
}
