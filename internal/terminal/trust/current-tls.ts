import type { Interceptor } from "@connectrpc/connect";
import type { TlsFiles } from "../../pki/tls-files.ts";

export interface CurrentTlsDeps {
  /** What lies there now. */
  readonly read: () => Promise<TlsFiles | undefined>;
  /** Has the calls that begin from now on use these; throws when they cannot be used, and changes nothing then. */
  readonly use: (files: TlsFiles) => void;
}

/**
 * Looks before each call whether certificate, key, CA or revocation lists were replaced, so that a command that runs
 * for days comes back with what is good then. What cannot be read or used, e.g. because it is half written, is looked
 * at again before the next call, and what was used before continues.
 */
export function currentTls({ read, use }: CurrentTlsDeps, first: TlsFiles): Interceptor {
  let used = JSON.stringify(first);
  const look = async () => {
    const files = await read();
    const text = JSON.stringify(files);
    if (files === undefined || text === used) return;
    use(files);
    used = text;
  };
  return (next) => async (req) => {
    await look().catch(() => {});
    return next(req);
  };
}
