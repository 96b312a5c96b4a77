import type { Environment } from "../../base/environment.ts";
import { DomainError } from "../../base/errors.ts";
import type { Provider } from "../../bridge/provider.ts";
import { MarkedProcesses } from "../../process/children/marked-processes.ts";
import { OrphanGuard } from "../../process/children/orphan-guard.ts";
import type { UnixUser } from "../../process/users/unix-user.ts";
import type { ProgramDialect } from "../conversation/conversation.ts";
import { claudeDialect } from "../dialects/claude-dialect.ts";
import { codexDialect } from "../dialects/codex-dialect.ts";
import { demoDialect } from "../dialects/demo-dialect.ts";
import { opencodeDialect } from "../dialects/opencode-dialect.ts";
import { agentEnvironment } from "./agent-environment.ts";
import { type ProgramConfig, type StdioDeps, StdioProvider } from "./stdio-provider.ts";

const DIALECTS: Readonly<Record<string, ProgramDialect>> = {
  claude: claudeDialect,
  codex: codexDialect,
  opencode: opencodeDialect,
  demo: demoDialect,
};

/** The providers that use standard streams, in display order. */
const stdioProviderNames: readonly string[] = Object.keys(DIALECTS);

/**
 * Creates a provider for each entry, by its name. Does not start or look for a program yet. The providers' agents do
 * not outlive this process, however it ends.
 * @throws DomainError `invalid` for a name that is not one of `stdioProviderNames`
 */
export function createStdioProviders(
  deps: Omit<StdioDeps, "guard" | "marked">,
  programs: Readonly<Record<string, ProgramConfig>>,
): ReadonlyMap<string, Provider> {
  const guarded = { ...deps, guard: new OrphanGuard(), marked: new MarkedProcesses(deps.clock) };
  return new Map(Object.entries(programs).map(([name, config]) => [name, createOne(guarded, name, config)]));
}

/** The environment of a provider's agents. @throws DomainError `invalid` for an unknown name */
export function environmentOf(name: string, own: Environment, user?: UnixUser): Readonly<Record<string, string>> {
  return agentEnvironment(dialectNamed(name), own, user);
}

/** The names of the `agent_opts` that a provider knows. @throws DomainError `invalid` for an unknown name */
export function optionNames(name: string): readonly string[] {
  return Object.keys(dialectNamed(name).options);
}

function createOne(deps: StdioDeps, name: string, config: ProgramConfig): Provider {
  return new StdioProvider(deps, dialectNamed(name), config);
}

function dialectNamed(name: string): ProgramDialect {
  const dialect = Object.hasOwn(DIALECTS, name) ? DIALECTS[name] : undefined;
  if (dialect !== undefined) return dialect;
  throw new DomainError(
    "invalid",
    `no provider is named "${name}"; the providers are ${stdioProviderNames.join(", ")}`,
  );
}
