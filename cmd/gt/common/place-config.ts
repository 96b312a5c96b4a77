import { DomainError } from "../../../internal/base/errors.ts";
import type { FlagValues } from "../../../internal/cli/flags.ts";
import { present } from "./arguments.ts";
import type { PLACE_FLAGS } from "./place-flags.ts";
import { readTokenSource, type TokenSource } from "./token-source.ts";

type Env = Readonly<Record<string, string | undefined>>;
type PlaceValues = FlagValues<typeof PLACE_FLAGS>;

/** What was said about where agents are and how to reach them. */
export interface PlaceConfig {
  readonly host?: string;
  readonly port?: number;
  readonly server?: string;
  /** A tmux socket: name or path. */
  readonly socket?: string;
  /** The socket was given by flag: only that tmux server is looked at. */
  readonly localOnly: boolean;
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string; readonly dir?: string };
  /** What calls are sent with, beside a certificate. */
  readonly token?: TokenSource;
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
}

/** A flag that names a place wins over every variable that names another. @throws DomainError `invalid` */
export function readPlace(flags: PlaceValues, env: Env): PlaceConfig {
  const flagged = flags.host ?? flags.port ?? flags.socket ?? flags.server;
  if (flags.socket !== undefined && (flags.host ?? flags.port ?? flags.server) !== undefined) {
    throw new DomainError(
      "invalid",
      "--socket is for local tmux, --host, --port and --server are for elsewhere: give one of them",
    );
  }
  const variable = (name: string) => (flagged !== undefined || !env[name] ? undefined : env[name]);
  const host = flags.host ?? variable("GT_SIDECAR_HOST");
  const port = flags.port ?? numberOf("GT_SIDECAR_PORT", variable("GT_SIDECAR_PORT"));
  if (port !== undefined && (port < 1 || port > 65_535)) throw new DomainError("invalid", `not a port: ${port}`);
  const { ca, cert, key } = flags;
  const token = readTokenSource(flags, env);
  return {
    ...present({
      host,
      port,
      server: flags.server ?? variable("GT_SERVER"),
      socket: flags.socket ?? (env["GT_TMUX_SOCKET"] || undefined),
    }),
    localOnly: flags.socket !== undefined,
    tls: present({ ca, cert, key, dir: flags["tls-dir"] }),
    ...(token && { token }),
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
  };
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,5}$/.test(text)) throw new DomainError("invalid", `${name} needs a port, not ${JSON.stringify(text)}`);
  return Number(text);
}
