import { keepTokenFile } from "../../internal/auth/keep-token-file.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { printable } from "../../internal/base/printable-text.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { listLocalSidecars } from "../../internal/terminal/finding/local-sidecars.ts";
import { mintLocal } from "../../internal/threads/client/local-issuer.ts";
import type { TokenConfig } from "./config.ts";
import { sidecarFolder } from "./sidecar-folder.ts";

/** Prints a token of the local issuer, or keeps a file with a valid one. */
export async function token(command: TokenConfig, { out, clock, signal }: CommandContext): Promise<number> {
  const { stateDir, agent, role, ttlMs, workspace, file } = command;
  const session = command.session ?? (await sessionOf(command));
  const kind = role === "operator" ? ("person" as const) : ("agent" as const);
  const mint = () => mintLocal(stateDir, { kind, workspace, agent, role, session, ttlMs }, clock.now());
  if (file === undefined) {
    out.line(printable`${mint()}`);
    return 0;
  }
  await keepTokenFile(file, mint, ttlMs, clock, signal);
  return 0;
}

async function sessionOf({ agent, workspace, runtimeDir }: TokenConfig): Promise<string> {
  const folder = sidecarFolder({ runtimeDir });
  const found = (await listLocalSidecars(folder)).filter((one) => one.agent === agent);
  const [only] = found;
  if (found.length === 1 && only !== undefined) return only.sessionId;
  const what = found.length === 0 ? "no sidecar of this machine has" : `${found.length} sidecars of this machine have`;
  throw new DomainError("invalid", `${what} the address ${agent} now`, {
    fields: { hint: `give --session; gt agents lists the sidecars (workspace ${workspace})` },
  });
}
