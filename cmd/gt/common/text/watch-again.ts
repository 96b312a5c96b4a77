import { backoffMs } from "../../../../internal/base/backoff.ts";
import type { Clock } from "../../../../internal/base/clock.ts";
import { DomainError } from "../../../../internal/base/errors.ts";
import { durationText } from "../../../../internal/cli/wording.ts";
import type { WatchRequest, WatchUpdate } from "../../../../internal/session/types.ts";
import type { Backend } from "../../../../internal/terminal/backend.ts";

export interface WatchAgainDeps {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Reports that the connection was lost; called once for each loss. */
  readonly lost: (message: string) => void;
  readonly back: (message: string) => void;
}

const RETRY = { firstMs: 100, maxMs: 2000, factor: 2 };
/** How long to try to reconnect: a person who watches overnight wants an error if the agent is gone. */
const GIVE_UP_MS = 5 * 60_000;

/**
 * The updates of a watch that is opened again after a broken connection or a restart of the serving half; the new
 * watch's first picture shows the changes in between.
 * @throws as `connectAgain`
 */
export async function* watchAgain(
  backend: Pick<Backend, "watch">,
  request: WatchRequest,
  deps: WatchAgainDeps,
): AsyncGenerator<WatchUpdate, void, undefined> {
  for await (const update of connectAgain(() => backend.watch(request, deps.signal), deps)) {
    yield update;
    if (update.kind === "end") return;
  }
}

/**
 * The items of a stream that is opened again when it breaks.
 * @param hasBegun true if the other end has already answered: then even a first stream that breaks at once is opened
 * again
 * @throws the stream's error if it never began, was refused, or does not come back within five minutes
 */
export async function* connectAgain<T>(
  open: () => AsyncIterable<T>,
  { clock, signal, lost, back }: WatchAgainDeps,
  hasBegun = false,
): AsyncGenerator<T, void, undefined> {
  let isKnown = hasBegun;
  let lostAt: number | undefined;
  for (let attempt = 0; ; attempt++) {
    try {
      for await (const update of open()) {
        if (lostAt !== undefined) back(`reconnected after ${durationText(clock.monotonicMs() - lostAt)}`);
        [isKnown, lostAt, attempt] = [true, undefined, 0];
        yield update;
      }
      return;
    } catch (err) {
      if (!isKnown || signal.aborted || !mayPass(err)) throw err;
      if (lostAt === undefined) lost(`the connection was lost, reconnecting (${err.message})`);
      lostAt ??= clock.monotonicMs();
      if (clock.monotonicMs() - lostAt >= GIVE_UP_MS) throw err;
    }
    await clock.sleep(backoffMs(RETRY, attempt, Math.random), signal);
  }
}

function mayPass(err: unknown): err is DomainError {
  return err instanceof DomainError && (err.kind === "unavailable" || err.kind === "deadline");
}
