import { hostname } from "node:os";
import type { LogLevel } from "../../internal/base/logger.ts";
import { noArguments, usageError } from "../../internal/cli/command/arguments.ts";
import type { Given } from "../../internal/cli/command/command.ts";
import { logLevelOf } from "../../internal/cli/command/log-level.ts";
import type { CONTROLLER_FLAGS } from "./flags.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The settings of every command. */
export interface ClusterOptions {
  readonly configFile: string;
  /** The controllers' namespace. */
  readonly namespace: string;
  /** The Helm release; the chart's objects are named after it. */
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
  /** The name of this replica's pod. */
  readonly podName: string;
}

/**
 * The settings from the command line and the environment. `command`: the name of the command, empty for the controller
 * itself.
 * @throws DomainError `invalid`, naming the flag
 */
export function readConfig(command: string, line: Given<typeof CONTROLLER_FLAGS>, env: Env): ClusterOptions {
  const call = `gt-controller ${command}`.trimEnd();
  const { values } = line;
  noArguments(call, line);
  if (!values.config)
    throw usageError(call, command === "" ? "--config FILE or a command is missing" : `${command} needs --config`);
  const [host, port] = [env["KUBERNETES_SERVICE_HOST"], env["KUBERNETES_SERVICE_PORT"]];
  return {
    configFile: values.config,
    namespace: values.namespace ?? "gastown-system",
    release: values.release ?? "gastown",
    kubeconfig: values.kubeconfig,
    context: values.context,
    apiServer: host ? { host, port: port ?? "443" } : undefined,
    env,
    logLevel: logLevelOf(values["log-level"]),
    podName: env["GT_POD_NAME"] || hostname(),
  };
}
