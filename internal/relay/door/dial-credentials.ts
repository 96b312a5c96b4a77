import type { ConnectionOptions } from "node:tls";

/** What the relay is shown. */
export interface DialCredentials {
  /** The agent's certificate, and the CAs of the relay's; undefined: plaintext. */
  readonly tls?: ConnectionOptions;
  readonly token?: string;
}
