import type { ConnectionOptions } from "node:tls";
import { clientTlsOptions } from "../../../internal/rpc/common/tls.ts";
import { clientTls, readTls } from "../../../internal/terminal/trust/tls-files.ts";

/** The TLS options for a connection to a relay, from the files of `--tls-dir`; undefined: plaintext. */
export async function dialTls(dir: string | undefined): Promise<ConnectionOptions | undefined> {
  const files = dir === undefined ? undefined : await readTls({ dir });
  return files && clientTlsOptions(clientTls(files));
}
