import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import { refuseLink } from "../files/refuse-link.ts";
import { replaceSecret } from "../files/replace-secret.ts";
import { systemReason } from "../files/system-reason.ts";

/**
 * Keeps a valid token in a file of mode 0600 until the signal is aborted; replaces it at half of its lifetime.
 * @throws DomainError `invalid` for a file that cannot be written, or is a link; as `mint`
 */
export async function keepTokenFile(
  file: string,
  mint: () => string,
  ttlMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    write(file, `${mint()}\n`);
    await clock.sleep(ttlMs / 2, signal).catch(() => {});
  }
}

function write(file: string, text: string): void {
  try {
    refuseLink(file);
    replaceSecret(file, text);
  } catch (err) {
    if (err instanceof DomainError) throw err;
    throw new DomainError("invalid", `cannot write ${file}: ${systemReason(err, "folder")}`, { cause: err });
  }
}
