import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import type { PeekRequest, PeekResult, WatchRequest, WatchUpdate } from "../session/types.ts";
import { intervalOf, NO_BYTES } from "../session/watch-interval.ts";

const HEARTBEAT_MS = 15_000;

/**
 * Updates of a local session's screen, looked at once an interval, until its agent ends, the loop is left or `signal`
 * aborts.
 */
export async function* watchLocal(
  deps: { readonly clock: Clock; readonly peek: (request: PeekRequest, signal: AbortSignal) => Promise<PeekResult> },
  request: WatchRequest,
  signal: AbortSignal,
): AsyncGenerator<WatchUpdate, void, undefined> {
  const { clock } = deps;
  const intervalMs = intervalOf(request);
  const wanted = { lines: request.lines, all: false, ansi: request.ansi, joinWrapped: false };
  let kind: WatchUpdate["kind"] = "snapshot";
  let sent = "";
  let sentAt = 0;
  let last: PeekResult | undefined;
  for (;;) {
    const now: PeekResult | undefined = await peekOrGone(deps.peek(wanted, signal));
    signal.throwIfAborted(); // an interrupted look shows nothing of the session
    if (now === undefined && last === undefined) throw new DomainError("not-found", "the session is gone");
    const picture: PeekResult | undefined = now ?? last;
    if (picture === undefined) return;
    last = picture;
    const content = JSON.stringify([picture.output, picture.alive, picture.cols, picture.rows]);
    if (content !== sent || clock.monotonicMs() - sentAt >= HEARTBEAT_MS) {
      yield update(content === sent ? "heartbeat" : kind, picture, clock.now());
      [sent, sentAt, kind] = [content, clock.monotonicMs(), "change"];
    }
    if (now === undefined || !now.alive) {
      const endReason = now === undefined ? "the session is gone" : "the agent has ended";
      yield { ...update("end", picture, clock.now()), alive: false, endReason };
      return;
    }
    await clock.sleep(intervalMs, signal);
  }
}

async function peekOrGone(peek: Promise<PeekResult>): Promise<PeekResult | undefined> {
  try {
    return await peek;
  } catch (err) {
    if (err instanceof DomainError && err.kind === "not-found") return undefined;
    throw err;
  }
}

function update(kind: WatchUpdate["kind"], picture: PeekResult, timestamp: number): WatchUpdate {
  const { output, alive, epoch, offset, cols, rows, alternateScreen, cursorX, cursorY } = picture;
  const where = { epoch, offset, cols, rows, alternateScreen, cursorX, cursorY };
  return { kind, output, data: NO_BYTES, alive, timestamp, ...where, endReason: "" };
}
