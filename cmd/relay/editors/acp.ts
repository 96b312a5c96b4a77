import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import { readNamedFileSync } from "../../../internal/files/named-file.ts";
import { carryEditor } from "../../../internal/relay/front/carried-editor.ts";
import { clientTlsOptions } from "../../../internal/rpc/common/tls.ts";
import { clientTls, readTls } from "../../../internal/terminal/trust/tls-files.ts";
import type { AcpCommand } from "./acp-config.ts";

/** Serves a relay's role as an ACP agent on stdin and stdout, until the editor ends its input. Returns 0. */
export async function acp({ url, tlsDir: dir, tokenFile }: AcpCommand, context: CommandContext): Promise<number> {
  const { stdin: input, stdout: output, signal } = context;
  const files = dir === undefined ? undefined : await readTls({ dir });
  const tls = files && clientTlsOptions(clientTls(files));
  const token = tokenFile === undefined ? undefined : readNamedFileSync(tokenFile).trim();
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  await carryEditor({ url, headers, tls }, { input, output }, signal);
  return 0;
}
