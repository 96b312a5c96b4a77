import { MAX_TOKEN_TTL_MS } from "../../internal/auth/token-verifier.ts";
import { createLogger } from "../../internal/base/logger.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { readNamedFileSync } from "../../internal/files/named-file.ts";
import { MarkedProcesses } from "../../internal/process/children/marked-processes.ts";
import { OrphanGuard } from "../../internal/process/children/orphan-guard.ts";
import type { DialCredentials } from "../../internal/relay/door/dial-credentials.ts";
import { DialledAgent } from "../../internal/relay/door/dialled-agent.ts";
import type { DialCommand } from "./config.ts";
import { dialTls } from "./flags/dial-tls.ts";
import { agentToken } from "./token.ts";

/** Keeps an agent connected until the signal. Returns 0. */
export async function dial(command: DialCommand, { clock, signal }: CommandContext): Promise<number> {
  const { server, sessionId, role, agentId, command: argv, env } = command;
  const url = `${server}/acp/${sessionId}/${role}?agent_id=${agentId}`;
  const logger = createLogger("relay", "info", { component: "relay" });
  const channels = { clock, guard: new OrphanGuard(), marked: new MarkedProcesses(clock) };
  const deps = { ...channels, logger, onStderr: (chunk: Buffer) => process.stderr.write(chunk) };
  const defined = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  const credentials = () => credentialsOf(command, clock.now());
  const options = { url, argv, env: Object.fromEntries(defined), cwd: process.cwd(), credentials };
  await new DialledAgent(deps, options).run(signal);
  return 0;
}

/** Reads the credentials' files as they are now. @throws DomainError `invalid`, naming the file that cannot be used */
async function credentialsOf(command: DialCommand, now: number): Promise<DialCredentials> {
  const { tlsDir, token: source, sessionId, role, agentId } = command;
  const tls = await dialTls(tlsDir);
  if (source === undefined) return { tls };
  const named = { sessionId, role, agentId, subject: agentId, ttlMs: MAX_TOKEN_TTL_MS, certificatePath: undefined };
  const token = "file" in source ? readNamedFileSync(source.file).trim() : agentToken({ ...source, ...named }, now);
  return { tls, token };
}
