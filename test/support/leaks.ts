import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Something that outlives the test file that made it. */
export type Leak =
  | { readonly kind: "process"; readonly what: string; readonly pid: number; readonly isOurs: boolean }
  | { readonly kind: "listening socket"; readonly what: string };

const KERNEL_THREAD = 0x00200000;
const LISTENING_TCP = "0A";
const LISTENING_UNIX = "00010000";

/**
 * What this process and its descendants hold: processes whose environment carries `marker` (also those that became
 * daemons, such as a tmux server), direct children, and sockets this process listens on. Linux only; elsewhere it finds
 * nothing. Zombies do not count.
 */
export function heldNow(marker: string): readonly Leak[] {
  if (process.platform !== "linux") return [];
  return [...heldProcesses(marker), ...listeningSockets()];
}

function heldProcesses(marker: string): readonly Leak[] {
  const own = String(process.pid);
  const pids = readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name) && name !== own);
  return pids.flatMap((pid): readonly Leak[] => {
    const { state, parent, flags } = statOf(pid);
    if (state === "" || state === "Z" || (flags & KERNEL_THREAD) !== 0) return [];
    const command = textOf(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim();
    const environment = textOf(`/proc/${pid}/environ`);
    const isOurs = parent === own || environment.includes(marker);
    // Both are empty while a program takes another's place: it may be ours, and the caller can look again.
    if (!isOurs && (command !== "" || environment !== "")) return [];
    return [{ kind: "process", what: `${pid} ${command.slice(0, 200)}`, pid: Number(pid), isOurs }];
  });
}

function statOf(pid: string): { readonly state: string; readonly parent: string; readonly flags: number } {
  const text = textOf(`/proc/${pid}/stat`);
  const [state = "", parent = "", , , , , flags = "0"] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state, parent, flags: Number(flags) };
}

function listeningSockets(): readonly Leak[] {
  const own = new Set(readdirSync("/proc/self/fd").map((fd) => linkOf(`/proc/self/fd/${fd}`)));
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
