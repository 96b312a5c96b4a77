import type { WebSocket } from "ws";
import { firstOf } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";

/** Time to read what has arrived before a socket is given up: a process that was held up runs its timers first. */
const READ_MS = 50;

/** Sends a ping; false if no pong comes within `withinMs`. @throws the signal's reason */
export async function answersPing(
  socket: WebSocket,
  withinMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  const pong = new Promise<true>((resolve) => socket.once("pong", () => resolve(true)));
  socket.ping();
  const late = async (stop: AbortSignal) => {
    await clock.sleep(withinMs, stop);
    await clock.sleep(READ_MS, stop);
    return false;
  };
  return await firstOf(signal, () => pong, late);
}
