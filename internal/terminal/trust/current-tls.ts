import type { Interceptor } from "@connectrpc/connect";
import type { TlsFiles } from "../../pki/tls-files.ts";

export interface CurrentTlsDeps {
  /** Reads the present files. */
  readonly read: () => Promise<TlsFiles | undefined>;
  /** Makes later calls use these files. Throws if they cannot be used; the previous ones then stay in use. */
  readonly use: (files: TlsFiles) => void;
}

/**
 * Checks before each call whether certificate, key, CA or revocation lists were replaced, so that a command that runs
 * for days uses the present ones. Files that cannot be read or used, e.g. because they are half written, are read again
 * before the next call, and the previous ones stay in use.
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
