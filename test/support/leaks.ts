import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A process or socket that outlives the test file that made it. */
export type Leak =
  | { readonly kind: "process"; readonly what: string; readonly pid: number; readonly isOurs: boolean }
  | { readonly kind: "listening socket"; readonly what: string };

/** The variable that marks the processes of a test file. */
export const FILE_MARK = "GT_TEST_FILE_ID";

const KERNEL_THREAD = 0x00200000;
const LISTENING_TCP = "0A";
const LISTENING_UNIX = "00010000";

/** All processes and sockets at one moment, of every owner. */
export interface Present {
  /** The start of each process by its pid: a pid alone may be reused. */
  readonly processes: ReadonlyMap<string, string>;
  /** The sockets of this process, as `/proc/self/fd` names them. */
  readonly sockets: ReadonlySet<string>;
}

const NOTHING: Present = { processes: new Map(), sockets: new Set() };

/**
 * The present processes and sockets. Called before and after each test file, with hundreds of both, so it reads as
 * little of each process as possible.
 */
export function presentNow(): Present {
  if (process.platform !== "linux") return NOTHING;
  const processes = new Map(pids().map((pid) => [pid, statOf(pid).startedAt]));
  return { processes, sockets: new Set(ownSockets()) };
}

/**
 * The resources of this process and its descendants that were not there `before`: processes whose environment contains
 * `marker` (even daemons, such as a tmux server), direct children, and sockets on which this process listens. Linux
 * only; elsewhere it finds nothing. Zombies do not count.
 */
export function heldSince(before: Present, marker: string): readonly Leak[] {
  if (process.platform !== "linux") return [];
  return [...heldProcesses(before.processes, marker), ...listeningSockets(before.sockets)];
}

function heldProcesses(before: Present["processes"], marker: string): readonly Leak[] {
  const own = String(process.pid);
  return pids().flatMap((pid): readonly Leak[] => {
    const { state, parent, flags, startedAt } = statOf(pid);
    if (pid === own || state === "" || state === "Z" || (flags & KERNEL_THREAD) !== 0) return [];
    if (before.get(pid) === startedAt) return [];
    const command = textOf(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim();
    const environment = textOf(`/proc/${pid}/environ`);
    const isOurs = parent === own || environment.includes(marker);
    // Both are empty while a process replaces its program: it may be ours, so it is listed, and the caller can look
    // again.
    if (!isOurs && (command !== "" || environment !== "")) return [];
    return [{ kind: "process", what: `${pid} ${command.slice(0, 200)}`, pid: Number(pid), isOurs }];
  });
}

function pids(): readonly string[] {
  return readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name));
}

interface Stat {
  readonly state: string;
  readonly parent: string;
  readonly flags: number;
  readonly startedAt: string;
}

function statOf(pid: string): Stat {
  const text = textOf(`/proc/${pid}/stat`);
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state = "", parent = "", , , , , flags = "0"] = fields;
  return { state, parent, flags: Number(flags), startedAt: fields[19] ?? "" };
}

function ownSockets(): readonly string[] {
  return readdirSync("/proc/self/fd")
    .map((fd) => linkOf(`/proc/self/fd/${fd}`))
    .filter((link) => link.startsWith("socket:"));
}

function listeningSockets(before: Present["sockets"]): readonly Leak[] {
  const own = new Set(ownSockets().filter((link) => !before.has(link)));
  if (own.size === 0) return [];
  const rows = (name: string): readonly string[][] =>
    textOf(`/proc/self/net/${name}`)
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(/\s+/));
  const tcp = ["tcp", "tcp6"].flatMap((name) =>
    rows(name)
      .filter((row) => row[3] === LISTENING_TCP && own.has(`socket:[${row[9]}]`))
      .map((row) => `${name} port ${Number.parseInt(row[1]?.split(":")[1] ?? "", 16)}`),
  );
  const unix = rows("unix")
    .filter((row) => row[3] === LISTENING_UNIX && own.has(`socket:[${row[6]}]`))
    .map((row) => `unix ${row[7] ?? "(unnamed)"}`);
  return [...tcp, ...unix].map((what) => ({ kind: "listening socket", what }));
}

/** A process may end between being listed and being read. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
