import type { ConnectionOptions } from "node:tls";

/** Credentials that an agent presents to the relay. */
export interface DialCredentials {
  /** The agent's certificate and the CAs that the agent trusts; undefined: plaintext. */
  readonly tls?: ConnectionOptions | undefined;
  readonly token?: string;
}
