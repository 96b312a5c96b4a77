import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Numbers that are counted when they are asked for. */
export interface ThreadsGauges {
  /** Notifications of other processes come through. */
  readonly hears: () => boolean;
  /** Counts all workspaces. @throws DomainError while the database is away: the last numbers stay */
  readonly open: () => Promise<{ readonly wakes: number; readonly escalations: number }>;
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 600];

/** Numbers of one server of threads; labels are words of ours alone. */
export class ThreadsMetrics {
  readonly #posts: Counter<"outcome">;
  readonly #postSeconds: Histogram;
  readonly #waits: Gauge;
  readonly #wakes: Counter<"outcome">;
  readonly #dispatch: Histogram;
  readonly #verified: Gauge;

  constructor(registry: Registry, gauges: ThreadsGauges) {
    const registers = [registry];
    const gauge = (name: string, help: string) => new Gauge({ name: `gt_threads_${name}`, help, registers });
    const outcome = { labelNames: ["outcome"] as const, registers };
    this.#posts = new Counter({ name: "gt_threads_posts_total", help: "Posts, by what became of them.", ...outcome });
    this.#postSeconds = new Histogram({
      ...{ name: "gt_threads_post_seconds", help: "From a post to its answer.", buckets: SECONDS, registers },
    });
    this.#waits = gauge("longpolls", "Readers that wait for a message.");
    this.#wakes = new Counter({ name: "gt_threads_wakes_total", help: "Ends of work on wakes.", ...outcome });
    this.#dispatch = new Histogram({
      ...{ name: "gt_threads_wake_dispatch_seconds", buckets: SECONDS, registers },
      help: "From the commit that wants a wake to the beginning of its first nudge.",
    });
    this.#verified = gauge("audit_verify_ok", "Whether the last check of the chains found them whole.");
    this.#verified.set(1);
    new Gauge({
      ...{ name: "gt_threads_notify_ok", help: "Whether notifications of other processes come through.", registers },
      collect() {
        this.set(gauges.hears() ? 1 : 0);
      },
    });
    const escalations = gauge("escalations_open", "Escalations that are not resolved.");
    new Gauge({
      ...{ name: "gt_threads_wakes_open", help: "Wakes that have not ended.", registers },
      async collect() {
        const open = await gauges.open().catch(() => undefined);
        if (open === undefined) return;
        this.set(open.wakes);
        escalations.set(open.escalations);
      },
    });
  }

  /** A call begins; the result is to be called with its answer, or with the code of its failure. */
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

  wakeEnded(state: string): void {
    this.#wakes.inc({ outcome: state.toLowerCase() });
  }

  /** `ms`: from the commit to the nudge. */
  nudgeBegan(ms: number): void {
    this.#dispatch.observe(ms / 1000);
  }
}

function outcomeOf(answer: object | string): string {
  if (typeof answer === "string") return answer.toLowerCase();
  return (answer as { readonly duplicate?: boolean }).duplicate === true ? "duplicate" : "stored";
}
