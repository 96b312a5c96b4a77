import { DomainError } from "../../internal/base/errors.ts";
import { parseFlags } from "../../internal/cli/flags.ts";

export type BridgeCommand =
  | { readonly type: "help" | "version" }
  | {
      readonly type: "run" | "check";
      /** As it was given. */
      readonly configPath: string;
      readonly stateDir: string | undefined;
      readonly place: Place;
    };

/** What the environment says of this machine and person. */
export interface Place {
  readonly home: string | undefined;
  readonly stateHome: string | undefined;
  readonly runtimeDir: string | undefined;
  /** The whole environment, for the agents. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

const specs = {
  config: { type: "string", short: "c", env: "GT_BRIDGE_CONFIG" },
  "state-dir": { type: "string", env: "GT_BRIDGE_STATE_DIR" },
} as const;

const HINT = "bridge --help shows examples";

/**
 * What to do, from flags and environment.
 * @throws DomainError `invalid`, naming the flag
 */
export function readConfig(argv: readonly string[], env: Readonly<Record<string, string | undefined>>): BridgeCommand {
  const { ask, values, positionals, rest = [] } = parseFlags(specs, argv, env);
  if (ask !== undefined) return { type: ask };
  const [word, ...others] = positionals;
  if (word === "help" || word === "version") return { type: word };
  const [stray] = [...(word === undefined || word === "check" ? [] : [word]), ...others, ...rest];
  if (stray !== undefined) {
    throw new DomainError("invalid", `unexpected argument ${JSON.stringify(stray)}`, { fields: { hint: HINT } });
  }
  if (values.config === undefined || values.config === "") {
    throw new DomainError("invalid", "--config FILE is missing (or GT_BRIDGE_CONFIG)", { fields: { hint: HINT } });
  }
  return {
    type: word === "check" ? "check" : "run",
    configPath: values.config,
    stateDir: values["state-dir"],
    place: { home: env["HOME"], stateHome: env["XDG_STATE_HOME"], runtimeDir: env["XDG_RUNTIME_DIR"], env },
  };
}
