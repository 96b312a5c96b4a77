import type { Clock } from "../../internal/base/clock.ts";
import type { Provider } from "../../internal/bridge/provider.ts";
import { runCommand } from "../../internal/process/run-command.ts";
import { createStdioProviders } from "../../internal/providers/create-providers.ts";
import type { ProgramConfig } from "../../internal/providers/stdio-provider.ts";
import { usableArgs } from "../../internal/providers/usable-args.ts";
import type { ProviderConfig } from "./file/bridge-config.ts";
import { ownProgram } from "./own-programs.ts";

export interface ProvidersDeps {
  readonly clock: Clock;
  /** What agents may inherit from. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The providers of a configuration, those that speak over standard streams. */
export function providersOf(configs: readonly ProviderConfig[], { clock, env }: ProvidersDeps): readonly Provider[] {
  const programs = configs.map((config) => [config.name, programOf(config)] as const);
  const deps = { clock, run: runCommand, env, cwd: process.cwd() };
  return [...createStdioProviders(deps, Object.fromEntries(programs)).values()];
}

function programOf({ name, binary, args, startupTimeoutMs }: ProviderConfig): ProgramConfig {
  const common = { args: usableArgs(name, args).args, startupTimeoutMs };
  const own = name === "demo" && binary === undefined ? ownProgram("demo-agent") : undefined;
  if (own === undefined) return { binary: binary ?? name, ...common };
  const [program, ...leading] = own;
  return { binary: program, leading, ...common };
}
