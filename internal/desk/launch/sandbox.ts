import { existsSync, lstatSync, readlinkSync } from "node:fs";
import type { FrontPaths } from "./front-paths.ts";

/** The files of a sandbox, in addition to the system's libraries. */
export interface SandboxContent {
  readonly place: FrontPaths;
  /** To read: programs and the customer's files. */
  readonly readable: readonly string[];
  /** A file outside to read under a name inside. */
  readonly files: readonly { readonly from: string; readonly to: string }[];
}

const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/** Names, certificates and linking; nothing of this machine's accounts beyond their names. */
const SETTINGS = [
  ...["alternatives", "ca-certificates", "group", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime"],
  ...["nsswitch.conf", "passwd", "pki", "resolv.conf", "ssl"],
].map((name) => `/etc/${name}`);

/**
 * The arguments of bubblewrap in front of a command: own mounts, processes, IPC and host name. Of this machine the
 * command has the system's libraries, what is listed, and the front's folder.
 */
export function sandboxArgs({ place, readable, files }: SandboxContent): readonly string[] {
  return [
    ...["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", "desk", "--new-session"],
    ...SYSTEM.flatMap(systemFolder),
    ...SETTINGS.flatMap((path) => ["--ro-bind-try", path, path]),
    ...["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run"],
    ...readable.flatMap((path) => ["--ro-bind", path, path]),
    ...[...new Set([place.folder, place.sockets])].flatMap((path) => ["--bind", path, path]),
    ...files.flatMap(({ from, to }) => ["--ro-bind", from, to]),
    ...["--chdir", place.work, "--"],
  ];
}

/** Where `/lib` is a link to `/usr/lib`, it is one inside too. */
function systemFolder(path: string): readonly string[] {
  if (!existsSync(path)) return [];
  return lstatSync(path).isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
}
