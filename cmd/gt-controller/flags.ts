import type { CommandFlags } from "../../internal/cli/command/command.ts";
import { LOG_LEVELS } from "../../internal/cli/command/log-level.ts";

/** The flags of every command. */
export const CONTROLLER_FLAGS = {
  config: {
    type: "string",
    env: "GT_CONTROLLER_CONFIG",
    value: "FILE",
    help: "the configuration; the chart writes it as controller.yaml",
    complete: "file",
  },
  namespace: {
    type: "string",
    env: "GT_NAMESPACE",
    value: "NAME",
    help: "the namespace of the controllers (gastown-system)",
  },
  release: { type: "string", value: "NAME", help: "the Helm release, the prefix of its objects' names (gastown)" },
  kubeconfig: {
    type: "string",
    env: "KUBECONFIG",
    value: "FILE",
    help: "the kubeconfig of the cluster; without it, in a pod, the pod's own cluster",
    complete: "file",
  },
  context: { type: "string", value: "NAME", help: "the context in the kubeconfig (the current one)" },
  "log-level": {
    type: "string",
    value: "LEVEL",
    help: "debug, info, warn, error or silent (info; when serving, that of FILE)",
    complete: LOG_LEVELS,
  },
} as const satisfies CommandFlags;

/** The name of the first client. */
export const CLIENT_FLAG = {
  client: {
    type: "string",
    value: "NAME",
    help: "the first client: the name in its certificate and the issuer of its tokens (admin)",
  },
} as const satisfies CommandFlags;
