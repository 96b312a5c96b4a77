import { DomainError } from "../../base/errors.ts";
import { locateProgram } from "../../process/locate-program.ts";
import type { UnixUser } from "../../process/users/unix-user.ts";
import type { TerminalProgram } from "./sidecar-launcher.ts";
import { interactiveArgs } from "./terminal-command.ts";

export interface TerminalProgramOptions {
  readonly provider: string;
  /** A name found on PATH, or an absolute path. */
  readonly binary: string;
  /** Arguments before all others, e.g. the file that an interpreter runs. */
  readonly leading: readonly string[];
  /** As configured. */
  readonly args: readonly string[];
  readonly env: (user?: UnixUser) => Readonly<Record<string, string>>;
  readonly startupTimeoutMs: number;
}

/** A provider's program as it runs in a terminal. */
export function terminalProgram(options: TerminalProgramOptions): TerminalProgram {
  const { provider, binary, leading, args, env, startupTimeoutMs } = options;
  return {
    env,
    startupTimeoutMs,
    command(agentOpts) {
      const own = interactiveArgs(provider, args, agentOpts);
      const program = locateProgram(binary, env()["PATH"] ?? "", "/");
      if (program !== undefined) return [program, ...leading, ...own];
      throw new DomainError("precondition", `${provider} is not available: no program ${JSON.stringify(binary)} found`);
    },
  };
}
