import { noArguments, usageError } from "../../internal/cli/command/arguments.ts";

/** The options of `bridge` and `bridge check`. */
export interface BridgeOptions {
  /** The path as it was given. */
  readonly configPath: string;
  readonly stateDir: string | undefined;
  readonly place: BridgeEnvironment;
}

/** The folders of this machine and person that the environment names. */
export interface BridgeEnvironment {
  readonly home: string | undefined;
  readonly stateHome: string | undefined;
  readonly runtimeDir: string | undefined;
  /** The whole environment, for the agents. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface Line {
  readonly values: { readonly config?: string; readonly "state-dir"?: string };
  readonly positionals: readonly string[];
  readonly rest?: readonly string[];
}

/**
 * The options from flags and environment. `call`: the command's name in errors.
 * @throws DomainError `invalid` without a configuration, or for an argument that is not a flag
 */
export function readConfig(call: string, line: Line, env: BridgeEnvironment["env"]): BridgeOptions {
  noArguments(call, line);
  const { config, "state-dir": stateDir } = line.values;
  if (config === undefined || config === "") throw usageError(call, "--config FILE is missing (or GT_BRIDGE_CONFIG)");
  const place = { home: env["HOME"], stateHome: env["XDG_STATE_HOME"], runtimeDir: env["XDG_RUNTIME_DIR"], env };
  return { configPath: config, stateDir, place };
}
