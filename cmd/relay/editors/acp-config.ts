import { noArguments } from "../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { ACP_FLAGS } from "../flags/flags.ts";
import { invalid, nameOf, needed } from "../flags/given.ts";

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
  const server = needed("--server", values.server).replace(/^http/, "ws").replace(/\/$/, "");
  if (!URL.canParse(server) || !/^wss?:$/.test(new URL(server).protocol)) {
    throw invalid(`--server is a URL such as ws://127.0.0.1:8080, not ${JSON.stringify(server)}`);
  }
  const { "tls-dir": tlsDir, "token-file": tokenFile } = values;
  if ((tlsDir !== undefined) !== server.startsWith("wss:")) throw invalid("wss:// and --tls-dir go together");
  if (tokenFile !== undefined && tlsDir === undefined) {
    throw invalid("a token is sent over wss:// only: give --tls-dir");
  }
  const role = needed("--role", nameOf("--role", values.role));
  const session = nameOf("--session", values.session);
  const query = new URLSearchParams({ ...(session !== undefined && { session }), role });
  return { url: `${server}/acp?${query}`, tlsDir, tokenFile };
}
