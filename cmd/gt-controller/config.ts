import { hostname } from "node:os";
import { DomainError } from "../../internal/base/errors.ts";
import type { LogLevel } from "../../internal/base/logger.ts";
import { parseFlags } from "../../internal/cli/flags.ts";
import { nearestName } from "../../internal/cli/nearest-name.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The cluster settings that every command takes. */
export interface ClusterFlags {
  readonly configFile: string;
  /** Of the controllers. */
  readonly namespace: string;
  /** What the chart's objects are named after. */
  readonly release: string;
  /** Undefined: the pod's own cluster. */
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  /** Host and port of the API server in a pod. */
  readonly apiServer: { readonly host: string; readonly port: string } | undefined;
  /** The whole environment, for programs that a kubeconfig names. */
  readonly env: Env;
  /** Undefined: the flag is not given. */
  readonly logLevel: LogLevel | undefined;
  /** Name of the first client. */
  readonly client: string;
}

export type Command =
  | { readonly type: "help" | "version" }
  /** `check`: only say what is wrong with the configuration. `podName`: of this replica. */
  | (ClusterFlags & { readonly type: "serve" | "check"; readonly podName: string })
  /** `project`: undefined: the project of the first namespace. */
  | (ClusterFlags & { readonly type: "init-ca"; readonly project: string | undefined })
  /** `onlyReport`: begins nothing. */
  | (ClusterFlags & { readonly type: "rotate-ca"; readonly onlyReport: boolean })
  | (ClusterFlags & { readonly type: "uninstall"; readonly timeoutMs: number; readonly isHook: boolean });

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error", "silent"];
const COMMANDS = ["check", "init-ca", "rotate-ca", "uninstall"] as const;

const specs = {
  config: { type: "string", env: "GT_CONTROLLER_CONFIG" },
  namespace: { type: "string", env: "GT_NAMESPACE" },
  release: { type: "string" },
  kubeconfig: { type: "string", env: "KUBECONFIG" },
  context: { type: "string" },
  "log-level": { type: "string" },
  client: { type: "string" },
  project: { type: "string" },
  timeout: { type: "duration" },
  hook: { type: "boolean" },
  progress: { type: "boolean" },
} as const;

/**
 * The command from the line and the environment.
 * @throws DomainError `invalid`, naming the flag
 */
export function readConfig(argv: readonly string[], env: Env): Command {
  const { ask, values, positionals, rest } = parseFlags(specs, argv, env);
  if (ask !== undefined) return { type: ask };
  const [word = "", ...more] = [...positionals, ...(rest ?? [])];
  if (word === "help" || word === "version") return { type: word };
  const type = word === "" ? "serve" : COMMANDS.find((name) => name === word);
  if (type === undefined) throw unknownCommand(word);
  if (more[0] !== undefined) throw invalid(`unexpected argument ${JSON.stringify(more[0])}`);
  if (!values.config)
    throw invalid(type === "serve" ? "--config FILE or a command is missing" : `${type} needs --config`);
  const [host, port] = [env["KUBERNETES_SERVICE_HOST"], env["KUBERNETES_SERVICE_PORT"]];
  const flags = {
    configFile: values.config,
    namespace: values.namespace ?? "gastown-system",
    release: values.release ?? "gastown",
    kubeconfig: values.kubeconfig,
    context: values.context,
    apiServer: host ? { host, port: port ?? "443" } : undefined,
    env,
    logLevel: values["log-level"] === undefined ? undefined : levelOf(values["log-level"]),
    client: values.client ?? "admin",
  };
  if (type === "serve" || type === "check") return { type, ...flags, podName: env["GT_POD_NAME"] || hostname() };
  if (type === "init-ca") return { type, ...flags, project: values.project };
  if (type === "rotate-ca") return { type, ...flags, onlyReport: values.progress ?? false };
  return { type, ...flags, timeoutMs: values.timeout ?? 240_000, isHook: values.hook ?? false };
}

function levelOf(word: string): LogLevel {
  const level = LEVELS.find((known) => known === word);
  if (level === undefined) throw invalid(`--log-level takes ${LEVELS.join(", ")}, not ${JSON.stringify(word)}`);
  return level;
}

function unknownCommand(word: string): DomainError {
  const near = nearestName(word, COMMANDS);
  return invalid(`unknown command ${JSON.stringify(word)}`, near && `did you mean ${near}?`);
}

function invalid(message: string, hint = "gt-controller --help lists the commands and flags"): DomainError {
  return new DomainError("invalid", message, { fields: { hint } });
}
