import { X509Certificate } from "node:crypto";
import { keepTokenFile } from "../../internal/auth/keep-token-file.ts";
import { mintToken, signingKeyOf } from "../../internal/auth/mint-token.ts";
import { printable } from "../../internal/base/printable-text.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { readNamedFileSync } from "../../internal/files/named-file.ts";
import { readPem } from "../../internal/pki/explain-pem.ts";
import type { TokenCommand } from "./token-config.ts";

/**
 * Mints a token for one agent of one session.
 * @param now wall clock, ms.
 * @throws DomainError `invalid`, naming the file
 */
export function agentToken(command: Omit<TokenCommand, "file">, now: number): string {
  const { keyPath, certificatePath: path, sessionId, role, agentId, ...request } = command;
  const key = signingKeyOf(readNamedFileSync(keyPath), keyPath);
  const certificate =
    path === undefined
      ? undefined
      : readPem(readNamedFileSync(path), "certificate", path, (text) => new X509Certificate(text));
  const more = { session_id: sessionId, role, agent_id: agentId };
  return mintToken(key, { ...request, more, certificate }, now);
}

/** Prints a token, or keeps a file with a valid one until the signal. */
export async function token(command: TokenCommand, { out, clock, signal }: CommandContext): Promise<number> {
  const { file, ttlMs } = command;
  const mint = () => agentToken(command, clock.now());
  if (file === undefined) {
    out.line(printable`${mint()}`);
    return 0;
  }
  await keepTokenFile(file, mint, ttlMs, clock, signal);
  return 0;
}
