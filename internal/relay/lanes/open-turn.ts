import { DomainError } from "../../base/errors.ts";
import type { Tracer, TraceSpan } from "../../base/tracing.ts";
import type { Dialect } from "../acp/dialect.ts";
import { failureCode, type ResultPart } from "../acp/result-parts.ts";
import type { WorkMessage } from "../acp/work-message.ts";
import type { LaneName } from "../nats/subjects.ts";

interface GivenTurn {
  readonly work: WorkMessage;
  readonly attempt: number;
  readonly dialect: Dialect;
  /** The work's header. */
  readonly traceparent: string | undefined;
}

/** Work of a held lane while it is being processed, as a span. It can be cancelled meanwhile. */
export class OpenTurn {
  readonly work: WorkMessage;
  readonly attempt: number;
  /** For the agent and the results: the span's, or the unchanged one of the work if nothing is traced. */
  readonly traceparent: string | undefined;
  /** True once the agent has been asked. */
  asked = false;
  readonly #cancelled = new AbortController();
  readonly #span: TraceSpan | undefined;
  #error: string | undefined;

  private constructor({ work, attempt, traceparent }: GivenTurn, span: TraceSpan | undefined) {
    this.work = work;
    this.attempt = attempt;
    this.traceparent = span?.traceparent ?? traceparent;
    this.#span = span;
  }

  /** Begins the span of a turn below the work's `traceparent`. The caller must call `end`. */
  static begin(tracer: Tracer, { sessionId, role }: LaneName, given: GivenTurn): OpenTurn {
    const names = { "gastown.session": sessionId, "gastown.role": role, "gastown.dialect": given.dialect };
    const span = tracer.begin("relay.turn", given.traceparent, { ...names, "gastown.attempt": given.attempt });
    return new OpenTurn(given, span);
  }

  get cancelled(): AbortSignal {
    return this.#cancelled.signal;
  }

  /** Must be called only after the log has recorded the cancellation. */
  cancel(): void {
    this.#cancelled.abort(new Error("the work is cancelled"));
  }

  /** Notes why the turn has no answer yet. `isGivenBack`: the relay gives the work back. */
  failed(err: unknown, isGivenBack: boolean): void {
    this.#error = err instanceof DomainError ? err.kind : isGivenBack ? "cancelled" : "internal";
  }

  /** Notes the answer by its last part. */
  answered(part: ResultPart): void {
    this.#span?.set({ "gastown.outcome": part.type });
    this.#error = failureCode(part);
  }

  /** Ends the span. */
  end(): void {
    this.#span?.end(this.#error);
  }
}
