import { createLogger } from "../../internal/base/logger.ts";
import type { Command, CommandFlags, Program } from "../../internal/cli/command/command.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { reportConfig } from "../../internal/config/report-config.ts";
import { type ClusterOptions, readConfig } from "./config.ts";
import { CLIENT_FLAG, CONTROLLER_FLAGS } from "./flags.ts";

const INIT_CA_FLAGS = {
  ...CLIENT_FLAG,
  project: { type: "string", value: "NAME", help: "the project in the printed commands (that of the first namespace)" },
  ...CONTROLLER_FLAGS,
} as const satisfies CommandFlags;

const ROTATE_CA_FLAGS = {
  progress: {
    type: "boolean",
    help: "begin nothing, only report; without it a replacement that is complete is followed by another",
  },
  ...CONTROLLER_FLAGS,
} as const satisfies CommandFlags;

const UNINSTALL_FLAGS = {
  ...CLIENT_FLAG,
  timeout: { type: "duration", value: "TIME", help: "how long to wait for pods to end (4m)" },
  hook: { type: "boolean", help: "do nothing unless Helm installed the release; the chart's hook sets it" },
  ...CONTROLLER_FLAGS,
} as const satisfies CommandFlags;

const check: Command<typeof CONTROLLER_FLAGS> = {
  name: "check",
  flags: CONTROLLER_FLAGS,
  help: {
    usage: "--config FILE",
    summary: "report errors in FILE and in the files that it names, by line",
    text: "Reports every error in a configuration and in the files that it names, by line.",
    examples: ["gt-controller check --config controller.yaml"],
  },
  completion: [],
  run: async (given, { env, out, err }) => {
    const { configFile } = readConfig("check", given, env);
    reportConfig((await import("./open-config.ts")).openConfig(configFile).findings, out, err);
    return 0;
  },
};

const initCa: Command<typeof INIT_CA_FLAGS> = {
  name: "init-ca",
  flags: INIT_CA_FLAGS,
  help: {
    usage: "--config FILE",
    summary: "create the CA and the first client's files if they are missing",
    text: "Creates what the cluster is missing before its first caller can do anything, and prints what to do next.",
    examples: ["gt-controller init-ca --config controller.yaml --kubeconfig ~/.kube/config"],
  },
  completion: [],
  run: async (given, context) => {
    const options = readConfig("init-ca", given, context.env);
    const { client = "admin", project } = given.values;
    return await (await import("./init-ca.ts")).initCa(logged(context, options), { ...options, client, project });
  },
};

const rotateCa: Command<typeof ROTATE_CA_FLAGS> = {
  name: "rotate-ca",
  flags: ROTATE_CA_FLAGS,
  help: {
    usage: "--config FILE",
    summary: "begin to replace the CA, or report the progress",
    text: `Creates the next CA, unless next.crt and next.key are in the CA's Secret. The leading replica takes each step once every
sidecar has followed the previous one; the old CA is accepted for ca.keep_previous longer.`,
    examples: ["gt-controller rotate-ca --config controller.yaml --kubeconfig ~/.kube/config"],
  },
  completion: [],
  run: async (given, context) => {
    const options = readConfig("rotate-ca", given, context.env);
    const onlyReport = given.values.progress ?? false;
    return await (await import("./rotate-ca.ts")).rotateCa(logged(context, options), { ...options, onlyReport });
  },
};

const uninstall: Command<typeof UNINSTALL_FLAGS> = {
  name: "uninstall",
  flags: UNINSTALL_FLAGS,
  help: {
    usage: "--config FILE",
    summary: "stop the controllers, delete what they created",
    text: "Stops the controllers and deletes what they created, before the chart's own objects go.",
    examples: ["gt-controller uninstall --config controller.yaml --kubeconfig ~/.kube/config"],
  },
  completion: [],
  run: async (given, context) => {
    const options = readConfig("uninstall", given, context.env);
    const { client = "admin", timeout: timeoutMs = 240_000, hook: isHook = false } = given.values;
    return await (await import("./uninstall.ts")).uninstall(logged(context, options), {
      ...options,
      client,
      timeoutMs,
      isHook,
    });
  },
};

const serve: Command<typeof CONTROLLER_FLAGS> = {
  name: "gt-controller",
  flags: CONTROLLER_FLAGS,
  help: {
    usage: "--config FILE",
    summary: "serve until SIGTERM; all replicas serve, one of them writes",
    text: "Runs agents in pods of a Kubernetes cluster, and serves them behind one endpoint.",
    notes: `The chart charts/gastown runs these commands. When serving, GT_POD_NAME is the replica's name in the Lease
gastown-controller (the host name).

Exit codes: 0 done, or stopped; 2 bad flags or an invalid file; 3 not found; 4 the cluster does not answer, or refuses;
1 a bug.`,
    examples: [
      "gt-controller check --config controller.yaml",
      "gt-controller --config controller.yaml --kubeconfig ~/.kube/config",
      "gt-controller init-ca --config controller.yaml --kubeconfig ~/.kube/config",
    ],
  },
  completion: [],
  commands: {
    check: async () => check,
    "init-ca": async () => initCa,
    "rotate-ca": async () => rotateCa,
    uninstall: async () => uninstall,
  },
  run: async (given, context) => {
    const options = readConfig("", given, context.env);
    return await (await import("./run.ts")).run(options, context);
  },
};

/** The program `gt-controller`: serves, sets a cluster up, and clears it. */
export const gtController: Program = serve;

function logged({ out, clock, signal }: CommandContext, { logLevel }: ClusterOptions) {
  return { out, clock, signal, logger: createLogger("gt-controller", logLevel ?? "info") };
}
