import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const PAUSE_MS = 500;

/**
 * Types the text, waits a fixed time, and presses Enter, without looking at the screen; true when tmux accepted both.
 */
export async function sendWithFixedSleep(socketPath: string, text: string): Promise<boolean> {
  const tmux = (...args: string[]) => run("tmux", ["-N", "-u", "-S", socketPath, ...args]);
  try {
    await tmux("send-keys", "-t", "=claude:", "-l", "--", text);
    await sleep(PAUSE_MS);
    await tmux("send-keys", "-t", "=claude:", "Enter");
    return true;
  } catch {
    return false;
  }
}
