import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import { readNamedFileSync } from "../../../internal/files/named-file.ts";
import { carryEditor } from "../../../internal/relay/front/carried-editor.ts";
import { dialTls } from "../flags/dial-tls.ts";
import type { AcpCommand } from "./acp-config.ts";

/** Serves a relay's role as an ACP agent on stdin and stdout, until the editor ends its input. Returns 0. */
export async function acp({ url, tlsDir, tokenFile }: AcpCommand, context: CommandContext): Promise<number> {
  const { stdin: input, stdout: output, signal } = context;
  const tls = await dialTls(tlsDir);
  const token = tokenFile === undefined ? undefined : readNamedFileSync(tokenFile).trim();
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  await carryEditor({ url, headers, tls }, { input, output }, signal);
  return 0;
}
