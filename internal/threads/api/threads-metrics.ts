import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Numbers that are read at each scrape. */
export interface ThreadsGauges {
  /** Whether notifications of other processes arrive. */
  readonly hears: () => boolean;
  /**
   * Counts over all workspaces.
   * @throws DomainError if the database is unavailable: the gauges keep their last values
   */
  readonly open: () => Promise<{ readonly wakes: number; readonly escalations: number; readonly unread: number }>;
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 600];

/** Metrics of one threads server. The values of labels never come from callers. */
export class ThreadsMetrics {
  readonly #posts: Counter<"outcome">;
  readonly #postSeconds: Histogram;
  readonly #waits: Gauge;
  readonly #wakes: Counter<"outcome" | "kind">;
  readonly #dispatch: Histogram;
  readonly #submitted: Histogram;
  readonly #visible: Histogram;
  readonly #deferred: Counter<"by">;
  readonly #blocks: Counter<"rule">;
  readonly #refused: Counter<"code">;
  readonly #failures: Counter<"code">;
  readonly #verified: Gauge;

  constructor(registry: Registry, gauges: ThreadsGauges) {
    const registers = [registry];
    const gauge = (name: string, help: string) => new Gauge({ name: `gt_threads_${name}`, help, registers });
    const counter = <L extends string>(name: string, help: string, ...labelNames: readonly L[]) =>
      new Counter({ name: `gt_threads_${name}`, help, labelNames, registers });
    const seconds = (name: string, help: string) =>
      new Histogram({ name: `gt_threads_${name}`, help, buckets: SECONDS, registers });
    this.#posts = counter("posts_total", "Posts, by outcome.", "outcome");
    this.#postSeconds = seconds("post_seconds", "Time from a post to its answer.");
    this.#visible = seconds("visible_seconds", "Time from storing a message to returning it to a waiting reader.");
    this.#blocks = counter("loop_blocks_total", "Threads that the loop guard has blocked.", "rule");
    this.#refused = counter("auth_refused_total", "Calls that were refused because of the caller.", "code");
    this.#failures = counter("db_errors_total", "Failures of the database, by SQLSTATE or the system's code.", "code");
    this.#deferred = counter("wake_deferred_total", "Wakes that were deferred, by cause.", "by");
    this.#waits = gauge("longpolls", "Readers that are waiting for a message.");
    this.#wakes = counter("wakes_total", "Ends of work on wakes.", "outcome", "kind");
    this.#dispatch = seconds(
      "wake_dispatch_seconds",
      "Time from the commit that makes a wake to the beginning of its first nudge.",
    );
    this.#submitted = seconds(
      "wake_submitted_seconds",
      "Time from the commit that makes a wake to the proof that its text was taken.",
    );
    this.#verified = gauge("audit_verify_ok", "Whether the last check found the hash chains intact.");
    this.#verified.set(1);
    new Gauge({
      ...{ name: "gt_threads_notify_ok", help: "Whether notifications of other processes arrive.", registers },
      collect() {
        this.set(gauges.hears() ? 1 : 0);
      },
    });
    let asked: ReturnType<ThreadsGauges["open"]> | undefined;
    // One query for all gauges of a scrape.
    const ask = () => {
      asked ??= gauges.open().finally(() => {
        asked = undefined;
      });
      return asked.catch(() => undefined);
    };
    const counted = (name: string, help: string, of: "wakes" | "escalations" | "unread") =>
      new Gauge({
        ...{ name: `gt_threads_${name}`, help, registers },
        async collect() {
          const open = await ask();
          if (open !== undefined) this.set(open[of]);
        },
      });
    counted("wakes_open", "Wakes that have not ended.", "wakes");
    counted("escalations_open", "Escalations that are not resolved.", "escalations");
    counted("unread", "Messages that were not acknowledged, at most 1,000 of an agent in a thread.", "unread");
  }

  /** Records that a call begins. Call the result with the call's answer, or with its error code. */
  began(operation: string, input: unknown): (answer: object | string) => void {
    const isWait = operation === "read_messages" && Number((input as { readonly wait_ms?: number }).wait_ms) > 0;
    if (isWait) this.#waits.inc();
    const observe = operation === "post_message" ? this.#postSeconds.startTimer() : undefined;
    return (answer) => {
      if (isWait) this.#waits.dec();
      observe?.();
      if (operation === "post_message") this.#posts.inc({ outcome: outcomeOf(answer) });
      if (operation === "verify_audit" && typeof answer === "object") {
        this.#verified.set((answer as { readonly ok?: boolean }).ok === true ? 1 : 0);
      }
    };
  }

  wakeEnded({ state, ageMs, deferredBy }: WakeEnd): void {
    this.#wakes.inc({ outcome: state.toLowerCase(), kind: "live" });
    if (deferredBy !== undefined) this.#deferred.inc({ by: deferredBy });
    if (state === "SUBMITTED" && ageMs !== undefined) this.#submitted.observe(ageMs / 1000);
  }

  /** `ms`: from storing a message to returning it to a waiting reader. */
  visible(ms: number): void {
    this.#visible.observe(Math.max(0, ms) / 1000);
  }

  loopBlocked(rule: string): void {
    this.#blocks.inc({ rule });
  }

  /** Counts a call that was refused because of its caller's token or authority. */
  refused(code: string): void {
    this.#refused.inc({ code: code.toLowerCase() });
  }

  databaseFailed(code: string): void {
    this.#failures.inc({ code });
  }

  /** `ms`: from the commit that made the wake to its first nudge. */
  nudgeBegan(ms: number): void {
    this.#dispatch.observe(ms / 1000);
  }
}

/** The end of work on a wake. */
interface WakeEnd {
  readonly state: string;
  /** Since the wake was made, ms. */
  readonly ageMs?: number | undefined;
  /** The cause of a deferral, if it has changed. */
  readonly deferredBy?: string | undefined;
}

function outcomeOf(answer: object | string): string {
  if (typeof answer === "string") return answer.toLowerCase();
  return (answer as { readonly duplicate?: boolean }).duplicate === true ? "duplicate" : "stored";
}
