import { mintToken, signingKeyOf } from "../../../internal/auth/mint-token.ts";
import { printable } from "../../../internal/base/printable-text.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import { readNamedInput } from "../../../internal/files/named-file.ts";
import { certificatesOf } from "../../../internal/pki/pem.ts";
import type { TokenFlags } from "./token-flags.ts";
import { readTokenOptions } from "./token-options.ts";

export async function runToken(given: Given<TokenFlags>, { out, env, clock }: CommandContext): Promise<number> {
  const { keyPath, certificatePath, request } = readTokenOptions(given, env);
  const key = signingKeyOf(await readNamedInput(keyPath), keyPath);
  const [certificate] = certificatePath === undefined ? [] : certificatesOf(await readNamedInput(certificatePath));
  out.line(printable`${mintToken(key, { ...request, certificate }, clock.now())}`);
  return 0;
}
