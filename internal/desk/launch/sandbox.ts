import { existsSync, lstatSync, readlinkSync } from "node:fs";
import type { FrontPaths } from "./front-paths.ts";

/** The files of a sandbox, in addition to the system's libraries. */
export interface SandboxContent {
  readonly place: FrontPaths;
  /** Readable: programs and the customer's files. */
  readonly readable: readonly string[];
  /** A file outside that is readable under a name inside. */
  readonly files: readonly { readonly from: string; readonly to: string }[];
}

const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/** Files for host names, certificates and dynamic linking, and the accounts of this machine without their passwords. */
const SETTINGS = [
  ...["alternatives", "ca-certificates", "group", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime"],
  ...["nsswitch.conf", "passwd", "pki", "resolv.conf", "ssl"],
].map((name) => `/etc/${name}`);

/**
 * The arguments of bubblewrap before a command: its own mounts, processes, IPC and host name. The command can use only
 * the system's libraries, the listed files and the front's folder.
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

/** A link, such as `/lib` to `/usr/lib`, is a link inside as well. */
function systemFolder(path: string): readonly string[] {
  if (!existsSync(path)) return [];
  return lstatSync(path).isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
}
