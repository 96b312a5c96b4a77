import type { Clock } from "../base/clock.ts";
import { replaceSecret } from "../files/replace-secret.ts";

/**
 * Keeps a valid token in a file of mode 0600 until the signal is aborted; replaces it at half of its lifetime.
 * @throws as `mint` and `replaceSecret`
 */
export async function keepTokenFile(
  file: string,
  mint: () => string,
  ttlMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    replaceSecret(file, `${mint()}\n`);
    await clock.sleep(ttlMs / 2, signal).catch(() => {});
  }
}
