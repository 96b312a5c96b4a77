import { resolve } from "node:path";
import type { ThreadTools } from "../../internal/agents/thread-tools.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { ownProgram } from "../../internal/cli/own-program.ts";
import { readRegularFileSync } from "../../internal/files/regular-file.ts";
import { systemReason } from "../../internal/files/system-reason.ts";
import { checkServerUrl } from "../../internal/threads/client/server-url.ts";

interface Values {
  readonly threads?: string;
  readonly "threads-token"?: string;
  readonly "threads-ca"?: string;
}

/**
 * The agent's thread tools, if both a server and a token are set; undefined if either is missing, since the environment
 * may set one of them for other programs.
 * @throws DomainError `invalid` for a bad URL, a plaintext URL of another machine, or the flag --threads without a
 * token
 */
export function readThreadsFlags(values: Values, ownFlags: readonly string[]): ThreadTools | undefined {
  const { threads: url, "threads-token": token, "threads-ca": ca } = values;
  const isGiven = ownFlags.some((word) => word === "--threads" || word.startsWith("--threads="));
  if (isGiven && !token) {
    throw new DomainError("invalid", "--threads needs --threads-token: every call of threads has a token", {
      fields: { hint: "threads token --agent ADDRESS --file FILE writes and renews one" },
    });
  }
  if (!url || !token) return undefined;
  checkServerUrl(url);
  const env = {
    GT_THREADS: url,
    GT_THREADS_TOKEN_FILE: resolve(token),
    ...(ca && { GT_THREADS_CA: resolve(ca) }),
  };
  // Without a shipped gt, the one on PATH.
  const command = ownProgram("gt") ?? ["gt"];
  return { command: [...command, "threads", "mcp"], env };
}

/**
 * The file that keeps the agent from its tools: it cannot be read, or is empty. Undefined: none. The files may come
 * later than the agent.
 */
export function missingForTools({ env }: ThreadTools): { readonly file: string; readonly reason: string } | undefined {
  const { GT_THREADS_TOKEN_FILE: token, GT_THREADS_CA: ca } = env;
  for (const file of [token, ca]) {
    if (file === undefined) continue;
    try {
      if (readRegularFileSync(file).trim() === "") return { file, reason: "it is empty" };
    } catch (err) {
      return { file, reason: systemReason(err) };
    }
  }
  return undefined;
}
