import { noArguments } from "../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { ACP_FLAGS } from "../flags/flags.ts";
import { invalid, nameOf, needed, relayServer } from "../flags/given.ts";

export interface AcpCommand {
  /** `ws://HOST:PORT/acp?…` */
  readonly url: string;
  /** Undefined: plaintext. */
  readonly tlsDir: string | undefined;
  readonly tokenFile: string | undefined;
}

/** @throws DomainError `invalid`, naming the flag */
export function readAcp(given: Given<typeof ACP_FLAGS>): AcpCommand {
  noArguments("relay acp", given);
  const { values } = given;
  const { "tls-dir": tlsDir, "token-file": tokenFile } = values;
  const server = relayServer(values.server, tlsDir);
  if (tokenFile !== undefined && tlsDir === undefined) {
    throw invalid("a token is sent over wss:// only: give --tls-dir");
  }
  const role = needed("--role", nameOf("--role", values.role));
  const session = nameOf("--session", values.session);
  const query = new URLSearchParams({ ...(session !== undefined && { session }), role });
  return { url: `${server}/acp?${query}`, tlsDir, tokenFile };
}
