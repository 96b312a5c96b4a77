import { profileChoice, profileNames } from "../../agents/known-programs.ts";
import type { CommandFlags, FlagSection } from "../../cli/command/command.ts";

/**
 * A local tmux server. The variable is read in `place-config.ts`: a flag for one place wins over a variable for
 * another.
 */
export const SOCKET_FLAG = {
  socket: {
    type: "string",
    value: "NAME",
    help: "only this local tmux server, a name as for tmux -L or a path (GT_TMUX_SOCKET asks it first)",
  },
} as const satisfies CommandFlags;

/** Which sidecar, and how to reach it. */
const SIDECAR_FLAGS = {
  host: {
    type: "string",
    value: "HOST",
    help: "its sidecar's host, or unix:PATH (GT_SIDECAR_HOST), default 127.0.0.1 with --port; the one agent there may be left unnamed",
  },
  port: { type: "number", value: "PORT", help: "its sidecar's port (GT_SIDECAR_PORT), default 9090 with --host" },
  server: { type: "string", value: "ADDR", help: "a control plane's HOST:PORT, port 9445 by default (GT_SERVER)" },
  "tls-dir": {
    type: "string",
    env: "GT_TLS_DIR",
    value: "DIR",
    help: "folder with tls.crt, tls.key and ca.crt for the sidecar or control plane",
    complete: "folder",
  },
  "insecure-plaintext": {
    type: "boolean",
    help: "talk in plaintext to its pod, or to the address that its bead names, although that is not on this machine",
  },
  ca: {
    type: "string",
    value: "FILE",
    help: "the CA of its certificate, instead of DIR/ca.crt",
    complete: "file",
  },
  cert: { type: "string", value: "FILE", help: "your certificate, instead of DIR/tls.crt", complete: "file" },
  key: { type: "string", value: "FILE", help: "its private key, instead of DIR/tls.key", complete: "file" },
} as const satisfies CommandFlags;

/** The cluster whose pods are agents. The variable is read in `place-config.ts`, as for `SOCKET_FLAG`. */
export const CLUSTER_FLAGS = {
  context: {
    type: "string",
    value: "NAME",
    help: "the cluster of this context of your kubeconfig: its pods by label, each reached by a port-forward (GT_KUBE_CONTEXT; KUBECONFIG)",
  },
  namespace: { type: "string", value: "NAME", help: "the namespace of those pods (that of the context, else all)" },
} as const satisfies CommandFlags;

const PROFILE_FLAG = {
  "agent-profile": {
    type: "string",
    value: "NAME",
    help: `the program in a local session, where that cannot be seen: ${profileChoice}`,
    complete: profileNames,
  },
} as const satisfies CommandFlags;

/** Selects the profile that supplies missing settings. */
export const USED_PROFILE_FLAG = {
  profile: {
    type: "string",
    env: "GT_PROFILE",
    value: "NAME",
    help: "use this profile of gt config for what is not given",
  },
} as const satisfies CommandFlags;

/** How to sign the token that is sent with each call. */
const TOKEN_FLAGS = {
  "jwt-key": {
    type: "string",
    value: "FILE",
    help: "send a token with each call, signed with this Ed25519 key (GT_TOKEN: this token)",
    complete: "file",
  },
  "jwt-issuer": { type: "string", value: "NAME", help: "the issuer of tokens" },
  "jwt-audience": { type: "string", value: "NAME", help: "the audience of tokens (a sidecar: gt-sidecar; bridge)" },
  project: { type: "string", value: "NAME", help: "the agent's project" },
  ...USED_PROFILE_FLAG,
} as const satisfies CommandFlags;

/** Flags of commands that only a control plane answers. */
export const SERVER_FLAGS = {
  server: SIDECAR_FLAGS.server,
  "tls-dir": SIDECAR_FLAGS["tls-dir"],
  ca: SIDECAR_FLAGS.ca,
  cert: SIDECAR_FLAGS.cert,
  key: SIDECAR_FLAGS.key,
  ...TOKEN_FLAGS,
} as const satisfies CommandFlags;

/** The section of help for `SERVER_FLAGS`. */
export const SERVER_SECTION: FlagSection = {
  heading: "The control plane (gt config keeps these):",
  names: Object.keys(SERVER_FLAGS),
};

/** Flags of every command that reaches one agent, near or far. */
export const PLACE_FLAGS = {
  ...SIDECAR_FLAGS,
  ...CLUSTER_FLAGS,
  ...TOKEN_FLAGS,
  ...SOCKET_FLAG,
  ...PROFILE_FLAG,
} as const satisfies CommandFlags;

/** The section of help for `PLACE_FLAGS`. */
export const PLACE_SECTION: FlagSection = {
  heading:
    "Where the agent is (looked for in this order, pods after its bead; without any of it: its bead, local tmux, sidecars of this machine):",
  names: Object.keys(PLACE_FLAGS),
};
