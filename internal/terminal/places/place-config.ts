import { DomainError } from "../../base/errors.ts";
import { isHost } from "../../base/text/host-name.ts";
import { present } from "../../cli/command/arguments.ts";
import type { CommandFlag } from "../../cli/command/command.ts";
import type { FlagValues } from "../../cli/flags.ts";
import { readServer } from "../trust/server-address.ts";
import type { TlsFileOptions } from "../trust/tls-files.ts";
import { readTokenSource, type TokenSource } from "../trust/token-source.ts";
import { PLACE_FLAGS } from "./place-flags.ts";
import { profileInUse } from "./profile-file.ts";
import type { Profile } from "./profile-keys.ts";

type Env = Readonly<Record<string, string | undefined>>;
type PlaceValues = FlagValues<typeof PLACE_FLAGS>;
type PlaceFlag = keyof typeof PLACE_FLAGS;

const PLACE_FLAG_NAMES = Object.keys(PLACE_FLAGS) as readonly PlaceFlag[];

/** The settings that locate agents and connect to them. */
export interface PlaceConfig {
  readonly host?: string;
  readonly port?: number;
  /** A control plane as `host:port`. */
  readonly server?: string;
  /** The cluster whose pods are agents, if a context was named and nothing more specific. */
  readonly cluster?: ClusterConfig;
  /** The project of the control plane's sessions, if it was given. */
  readonly project?: string;
  /** A tmux socket: name or path. */
  readonly socket?: string;
  /** The socket was given by flag: only that tmux server is used. */
  readonly localOnly: boolean;
  /** Plaintext is allowed even to an address that only a bead or a pod's label names. */
  readonly insecure?: boolean;
  readonly tls: TlsFileOptions;
  /** Sent with calls, besides a certificate. */
  readonly token?: TokenSource | undefined;
  /** The token for a control plane that a bead names. @throws DomainError `invalid` as `readTokenSource` */
  readonly serverToken?: () => TokenSource | undefined;
  /** Which agent program runs in a local session. */
  readonly profile?: string;
  readonly townRoot?: string;
  readonly townSocket?: string;
  readonly tmux?: string;
  readonly tmuxPane?: string;
  readonly tmuxTmpdir?: string;
  readonly xdgRuntimeDir?: string;
  readonly uid: number;
  readonly cwd: string;
  /** For programs that are run: `bd` and `tmux`. */
  readonly env: Env;
  /** The settings that were given by flag. */
  readonly given?: Readonly<Partial<Record<PlaceFlag, string | number | boolean>>>;
}

/** A cluster to search for agents. */
export interface ClusterConfig {
  /** The context of the kubeconfig. */
  readonly context: string;
  /** Undefined: the namespace of the context, or all if it has none. */
  readonly namespace?: string;
  /** The context was given by flag: only that cluster is used. */
  readonly only: boolean;
}

/** A flag that names a place wins over every variable that names another. @throws DomainError `invalid` */
export function readPlace(flags: PlaceValues, env: Env): PlaceConfig {
  refuseUnused(flags, env);
  const flagged = flags.host ?? flags.port ?? flags.socket ?? flags.server ?? flags.context;
  if (flags.socket !== undefined && (flags.host ?? flags.port ?? flags.server) !== undefined) {
    throw new DomainError(
      "invalid",
      "--socket is for local tmux, --host, --port and --server are for other places: give only one of them",
    );
  }
  const variable = (name: string) => (flagged !== undefined || !env[name] ? undefined : env[name]);
  const host = flags.host ?? variable("GT_SIDECAR_HOST");
  const port = flags.port ?? numberOf("GT_SIDECAR_PORT", variable("GT_SIDECAR_PORT"));
  if (host?.startsWith("unix:") && port !== undefined)
    throw new DomainError("invalid", "a unix socket has no port: omit --port (GT_SIDECAR_PORT)");
  if (port !== undefined && (port < 1 || port > 65_535)) throw new DomainError("invalid", `not a port: ${port}`);
  const where =
    host === undefined ? undefined : checkHost(host, flags.host === undefined ? "GT_SIDECAR_HOST" : "--host");
  const profile: Profile = flags.socket === undefined ? profileInUse(env, flags.profile) : {};
  const noPlace = (where ?? port) === undefined;
  const kept = flags.context === undefined ? profile.server : undefined;
  const server = noPlace ? serverOf(flags.server, variable("GT_SERVER"), kept) : undefined;
  const cluster = noPlace && server === undefined ? clusterOf(flags, variable("GT_KUBE_CONTEXT"), profile) : undefined;
  const token = readTokenSource({ flags, env, profile, toServer: server !== undefined });
  return {
    ...present({
      host: where,
      port,
      server,
      cluster,
      project: flags.project ?? profile.project,
      socket: flags.socket ?? (env["GT_TMUX_SOCKET"] || undefined),
    }),
    localOnly: flags.socket !== undefined,
    ...present({ insecure: flags["insecure-plaintext"] }),
    tls: { ...(flags["tls-dir"] === undefined && tlsOf(profile)), ...tlsOf(flags) },
    token,
    serverToken: () => readTokenSource({ flags, env, profile, toServer: true }),
    ...present({
      profile: flags["agent-profile"],
      townRoot: env["GT_TOWN_ROOT"] || undefined,
      townSocket: env["GT_TOWN_SOCKET"] || undefined,
      tmux: env["TMUX"] || undefined,
      tmuxPane: env["TMUX_PANE"] || undefined,
      tmuxTmpdir: env["TMUX_TMPDIR"] || undefined,
      xdgRuntimeDir: env["XDG_RUNTIME_DIR"] || undefined,
    }),
    uid: process.getuid?.() ?? 0,
    cwd: process.cwd(),
    env,
    given: givenFlags(flags, env),
  };
}

/** The flags that were given a value other than their variable's. */
function givenFlags(flags: PlaceValues, env: Env): NonNullable<PlaceConfig["given"]> {
  const given = (name: PlaceFlag) => {
    const { env: variable }: CommandFlag = PLACE_FLAGS[name];
    return variable !== undefined && flags[name] === env[variable] ? undefined : flags[name];
  };
  return present(Object.fromEntries(PLACE_FLAG_NAMES.map((name) => [name, given(name) || undefined])));
}

function tlsOf(values: Profile): TlsFileOptions {
  return present({ ca: values.ca, cert: values.cert, key: values.key, dir: values["tls-dir"] });
}

/** Whether the place is the address of one sidecar. */
export function namesOneAgent({ host, port }: PlaceConfig): boolean {
  return (host ?? port) !== undefined;
}

/** True if a control plane is called, because nothing else was named. */
export function isControlPlane(place: PlaceConfig): boolean {
  return place.server !== undefined && !namesOneAgent(place);
}

function serverOf(flag: string | undefined, variable: string | undefined, own: string | undefined): string | undefined {
  if (flag !== undefined) return readServer(flag, "--server");
  if (variable !== undefined) return readServer(variable, "GT_SERVER");
  return own === undefined ? undefined : readServer(own, "server of the profile");
}

function clusterOf(flags: PlaceValues, variable: string | undefined, profile: Profile): ClusterConfig | undefined {
  const context = flags.context ?? variable ?? (flags.socket === undefined ? profile.context : undefined);
  if (context === undefined) {
    if (flags.namespace === undefined) return undefined;
    throw new DomainError("invalid", "--namespace needs --context: it names a namespace of that cluster");
  }
  const namespace = flags.namespace ?? profile.namespace;
  return { context, only: flags.context !== undefined, ...present({ namespace }) };
}

/** Refuses a flag that has no meaning beside the others: it is a mistake. */
function refuseUnused(flags: PlaceValues, env: Env): void {
  const refuse = (flag: string, why: string) => {
    throw new DomainError("invalid", `--${flag} ${why}`);
  };
  if (flags.context !== undefined && (flags.host ?? flags.port ?? flags.server ?? flags.socket) !== undefined)
    refuse(
      "context",
      "names a cluster, --host, --port, --server and --socket name other places: give only one of them",
    );
  if (flags.socket !== undefined) {
    for (const name of ["ca", "cert", "key", "insecure-plaintext"] as const) {
      if (flags[name] !== undefined) refuse(name, "is for a sidecar, --socket for local tmux: give only one of them");
    }
    if (flags["tls-dir"] !== undefined && flags["tls-dir"] !== env["GT_TLS_DIR"])
      refuse("tls-dir", "is for a sidecar, --socket for local tmux: give only one of them");
  }
  if (flags.server !== undefined && (flags.host ?? flags.port) !== undefined)
    refuse("server", "names a control plane, --host and --port name a sidecar: give only one of them");
  if (flags["agent-profile"] !== undefined && (flags.host ?? flags.port ?? flags.server ?? flags.context) !== undefined)
    refuse("agent-profile", "is for local tmux: a sidecar knows its agent");
}

/** The host as it is dialled: an IPv6 address may be in brackets; `unix:` and an absolute path name a socket. */
function checkHost(host: string, source: string): string {
  if (/^unix:\//.test(host)) return host;
  const bare = /^\[(.*)\]$/.exec(host)?.[1] ?? host;
  if (isHost(bare)) return bare;
  const hint = /^[a-z][a-z0-9+.-]*:\/\//i.test(host)
    ? "omit the scheme"
    : /:\d+$/.test(host)
      ? "give the port with --port"
      : "as in toast.example, 10.0.3.7, ::1 or unix:/run/agent.sock";
  throw new DomainError("invalid", `${source} takes a host name or an address, not ${JSON.stringify(host)}`, {
    fields: { hint },
  });
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,5}$/.test(text)) throw new DomainError("invalid", `${name} needs a port, not ${JSON.stringify(text)}`);
  return Number(text);
}
