import { backoffMs } from "../../../../internal/base/backoff.ts";
import type { Clock } from "../../../../internal/base/clock.ts";
import { DomainError } from "../../../../internal/base/errors.ts";
import { durationText } from "../../../../internal/cli/wording.ts";
import type { WatchRequest, WatchUpdate } from "../../../../internal/session/types.ts";
import type { Backend } from "../../../../internal/terminal/backend.ts";

export interface WatchAgainDeps {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Tells the person that the connection was lost, once until it is back. */
  readonly lost: (message: string) => void;
  readonly back: (message: string) => void;
}

const RETRY = { firstMs: 100, maxMs: 2000, factor: 2 };
/** A person who watches overnight wants to see that the agent is gone permanently. */
const GIVE_UP_MS = 5 * 60_000;

/**
 * The updates of a watch that continues when the connection breaks or the serving half restarts: it is opened again,
 * and its first picture says what has changed meanwhile. @throws what the watch throws, when it never began, was
 * refused, or does not come back within five minutes
 */
export async function* watchAgain(
  backend: Pick<Backend, "watch">,
  request: WatchRequest,
  deps: WatchAgainDeps,
): AsyncGenerator<WatchUpdate, void, undefined> {
  const { clock, signal } = deps;
  let hasBegun = false;
  let lostAt: number | undefined;
  for (let attempt = 0; ; attempt++) {
    try {
      for await (const update of backend.watch(request, signal)) {
        if (lostAt !== undefined) deps.back(`reconnected after ${durationText(clock.monotonicMs() - lostAt)}`);
        [hasBegun, lostAt, attempt] = [true, undefined, 0];
        yield update;
        if (update.kind === "end") return;
      }
      return;
    } catch (err) {
      if (!hasBegun || signal.aborted || !mayPass(err)) throw err;
      if (lostAt === undefined) deps.lost(`the connection was lost, reconnecting (${err.message})`);
      lostAt ??= clock.monotonicMs();
      if (clock.monotonicMs() - lostAt >= GIVE_UP_MS) throw err;
    }
    await clock.sleep(backoffMs(RETRY, attempt, Math.random), signal);
  }
}

function mayPass(err: unknown): err is DomainError {
  return err instanceof DomainError && (err.kind === "unavailable" || err.kind === "deadline");
}
