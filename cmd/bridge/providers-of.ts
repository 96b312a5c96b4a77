import type { Socket } from "node:net";
import type { ThreadTools } from "../../internal/agents/thread-tools.ts";
import type { Clock } from "../../internal/base/clock.ts";
import type { Logger } from "../../internal/base/logger.ts";
import { DEFAULT_REDACT_PATTERNS, type Redactor } from "../../internal/base/redact.ts";
import type { SessionTokens } from "../../internal/bridge/local/session-tokens.ts";
import type { Provider, SessionConfig } from "../../internal/bridge/provider.ts";
import { ownProgram } from "../../internal/cli/own-program.ts";
import { runCommand } from "../../internal/process/run-command.ts";
import type { UnixUser } from "../../internal/process/users/unix-user.ts";
import { RecordedProvider } from "../../internal/providers/ledger/recorded-provider.ts";
import type { SessionLedger } from "../../internal/providers/ledger/session-ledger.ts";
import { createStdioProviders, environmentOf } from "../../internal/providers/stdio/create-providers.ts";
import type { ProgramConfig, StdioDeps } from "../../internal/providers/stdio/stdio-provider.ts";
import { usableArgs } from "../../internal/providers/stdio/usable-args.ts";
import { SidecarLauncher } from "../../internal/providers/terminal/sidecar-launcher.ts";
import { terminalProgram } from "../../internal/providers/terminal/terminal-program.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import type { BridgeConfig, ProviderConfig } from "./file/bridge-config.ts";
import type { ApartProjects } from "./place/projects-apart.ts";

export interface ProvidersDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Removes secrets from errors that quote a program's output. */
  readonly redactor: Redactor;
  /** The environment that agents may inherit variables from. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Undefined: agents get no tokens. */
  readonly tokens: SessionTokens | undefined;
  /** The users that projects' agents run as; undefined: all run as this process's user. */
  readonly apart: ApartProjects | undefined;
}

/** The providers of a configuration; the ledger lists their sessions while they run. */
export function providersOf(
  config: BridgeConfig,
  ledger: SessionLedger,
  deps: Pick<ProvidersDeps, "clock" | "redactor" | "env" | "tokens" | "apart">,
): readonly Provider[] {
  const environmentOf = (session: SessionConfig) => ({
    ...ledger.environmentOf(session),
    ...deps.tokens?.environmentOf(session),
  });
  const threadToolsOf = (session: SessionConfig) => threadTools(config, deps.tokens, session);
  const { clock, redactor, env, apart } = deps;
  const users = apart && { userOf: apart.userOf, asking: apart.asking };
  return stdioProviders(config, { clock, redactor, env, environmentOf, threadToolsOf, ...users }).map(
    (provider) => new RecordedProvider(provider, ledger),
  );
}

export function stdioProviders(
  { providers }: BridgeConfig,
  deps: Pick<StdioDeps, "clock" | "redactor" | "env" | "environmentOf" | "threadToolsOf" | "userOf" | "asking">,
): readonly Provider[] {
  const programs = providers.map((config) => [config.name, programOf(config)] as const);
  const hasTerminals = ownProgram("gt-sidecar") !== undefined;
  const common = { run: runCommand, cwd: "/", hasTerminals };
  return [...createStdioProviders({ ...common, ...deps }, Object.fromEntries(programs)).values()];
}

/**
 * The launcher of agents in terminals, each in a folder below `folder`; undefined if gt-sidecar is not shipped with
 * this program.
 */
export function terminalsOf(config: BridgeConfig, folder: string, deps: ProvidersDeps): SidecarLauncher | undefined {
  const { clock, logger, redactor, env, tokens, apart } = deps;
  const sidecar = ownProgram("gt-sidecar");
  if (sidecar === undefined) return undefined;
  const programs = config.providers.map((provider) => [provider.name, inTerminal(provider, env)] as const);
  const connect = (dial: () => Socket) => sidecarTransport({ baseUrl: "http://localhost", dial });
  const { graceMs, eventBuffer } = config.sessions;
  const { redactPatterns } = config.logging;
  const flags = [
    ...["--grace", `${Math.max(1, graceMs)}ms`, "--event-buffer", String(Math.max(100, eventBuffer))],
    ...["--log-level", "warn"],
    // The flag replaces the built-in patterns, the configuration adds to them: pass both.
    ...(redactPatterns.length === 0 ? [] : [...DEFAULT_REDACT_PATTERNS, ...redactPatterns].flatMap(redactFlag)),
  ];
  // The sidecar reads these variables, and gives its agent the tools.
  const environment = (session: SessionConfig) => ({
    ...tokens?.environmentOf(session),
    ...threadTools(config, tokens, session)?.env,
  });
  return new SidecarLauncher(
    { clock, logger, redactor, connect, environmentOf: environment },
    { sidecar, flags, folder, programs: new Map(programs), apart },
  );
}

/** The tools of a session's agent; undefined without a server or tokens. */
function threadTools(
  { threads }: BridgeConfig,
  tokens: SessionTokens | undefined,
  session: SessionConfig,
): ThreadTools | undefined {
  if (threads === undefined || tokens === undefined) return undefined;
  const { url, caPath } = threads;
  const env = { GT_THREADS: url, ...(caPath !== undefined && { GT_THREADS_CA: caPath }) };
  const command = ownProgram("gt") ?? (["gt"] as const);
  return { command: [...command, "threads", "mcp"], env: { ...env, ...tokens.environmentOf(session) } };
}

function redactFlag(pattern: string): readonly string[] {
  return [`--redact-pattern=${pattern}`];
}

function programOf(config: ProviderConfig): ProgramConfig {
  const { name, args, startupTimeoutMs, allow } = config;
  return { ...binaryOf(config), args: usableArgs(name, args).args, startupTimeoutMs, allow };
}

function inTerminal(config: ProviderConfig, env: ProvidersDeps["env"]) {
  const { name: provider, args, startupTimeoutMs } = config;
  const envOf = (user?: UnixUser) => environmentOf(provider, env, user);
  return terminalProgram({ provider, ...binaryOf(config), args, env: envOf, startupTimeoutMs });
}

/** The demo agent is shipped with this program. */
function binaryOf({ name, binary }: ProviderConfig): { readonly binary: string; readonly leading: readonly string[] } {
  const own = name === "demo" && binary === undefined ? ownProgram("demo-agent") : undefined;
  if (own === undefined) return { binary: binary ?? (name === "demo" ? "demo-agent" : name), leading: [] };
  const [program, ...leading] = own;
  return { binary: program, leading };
}
