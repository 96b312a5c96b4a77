import { threadsError } from "../domain/faults.ts";

const MINUTE_MS = 60_000;
const MAX_AGENTS = 10_000;

/** Limits the posts of each agent through this process. Remembers at most 10,000 agents. */
export class PostLimiter {
  readonly #now: () => number;
  readonly #posts = new Map<string, number[]>();

  /** `now`: monotonic, ms. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts a post. @throws DomainError `exhausted`, code RATE_LIMITED, for more than `perMinute` within a minute */
  take(workspace: string, agent: string, perMinute: number): void {
    const key = `${workspace} ${agent}`;
    const now = this.#now();
    const recent = (this.#posts.get(key) ?? []).filter((time) => time > now - MINUTE_MS);
    this.#posts.delete(key);
    if (recent.length >= perMinute) {
      this.#posts.set(key, recent);
      throw threadsError("RATE_LIMITED", `${agent} has posted ${perMinute} messages within a minute`, {
        retry_after_ms: Math.ceil((recent[0] ?? now) + MINUTE_MS - now),
      });
    }
    this.#posts.set(key, [...recent, now]);
    for (const [oldest] of this.#posts) {
      if (this.#posts.size <= MAX_AGENTS) break;
      this.#posts.delete(oldest);
    }
  }
}
