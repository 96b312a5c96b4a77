import type { WebSocket } from "ws";
import { firstOf } from "../../base/abort.ts";
import { type Clock, readingClock } from "../../base/clock.ts";

/** Sends a ping, and reports whether a pong arrives within `withinMs`. @throws the signal's reason */
export async function answersPing(
  socket: WebSocket,
  withinMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  const pong = new Promise<true>((resolve) => socket.once("pong", () => resolve(true)));
  socket.ping();
  const late = (stop: AbortSignal) => readingClock(clock).sleep(withinMs, stop);
  return (await firstOf(signal, () => pong, late)) ?? false;
}
