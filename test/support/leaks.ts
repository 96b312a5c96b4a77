import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Something that outlives the test file that made it. */
export type Leak =
  | { readonly kind: "process"; readonly what: string; readonly pid: number; readonly isOurs: boolean }
  | { readonly kind: "listening socket"; readonly what: string };

const KERNEL_THREAD = 0x00200000;
const LISTENING_TCP = "0A";
const LISTENING_UNIX = "00010000";

/** What existed at one moment, whatever holds it. */
export interface Present {
  /** When each process began, by its pid: a pid alone may come to be another's. */
  readonly processes: ReadonlyMap<string, string>;
  /** Sockets of this process, as `/proc/self/fd` names them. */
  readonly sockets: ReadonlySet<string>;
}

const NOTHING: Present = { processes: new Map(), sockets: new Set() };

/**
 * What is there now. Before and behind each test file, with hundreds of both, all of it is asked for: so it reads as
 * little of each process as will do.
 */
export function presentNow(): Present {
  if (process.platform !== "linux") return NOTHING;
  const processes = new Map(pids().map((pid) => [pid, statOf(pid).startedAt]));
  return { processes, sockets: new Set(ownSockets()) };
}

/**
 * What this process and its descendants hold that was not there `before`: processes whose environment carries `marker`
 * (also those that became daemons, such as a tmux server), direct children, and sockets this process listens on. Linux
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
    // Both are empty while a program takes another's place: it may be ours, and the caller can look again.
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
