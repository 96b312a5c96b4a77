import type { BackgroundCount, BackgroundKind, FileState, ReportedTask } from "../../agents/profile.ts";
import { foldedLine } from "../../base/sanitise.ts";
import type { BackgroundTask } from "../../session/types.ts";

const MAX_TITLE = 200;
/** The most tasks of one kind that are listed, whatever a screen shows. */
const MAX_COUNT = 100;
const ONE_SHELL: BackgroundCount = { kind: "shell", count: 1 };

/** The sources' reports on the tasks in the agent's background. */
export interface BackgroundSigns {
  /** The list of the last hook that had one, without those reported as ended since. */
  readonly told: readonly ReportedTask[];
  /** The state file, when it is newer than that list. */
  readonly file?: FileState | undefined;
  readonly counts: readonly BackgroundCount[];
}

/**
 * The current list. The hook names the tasks; the file and the screen, which also notice a killed task, correct their
 * number: the oldest go first, and tasks that only the screen counts have no title. Pure; `before` keeps the times.
 * `now` is the wall clock, ms.
 */
export function backgroundTasks(
  signs: BackgroundSigns,
  before: readonly BackgroundTask[],
  now: number,
): readonly BackgroundTask[] {
  if (signs.file?.type === "idle" && signs.file.background === "none") return [];
  const told = signs.told.map(({ id, kind, title }) => ({ id: shortLine(id), kind, title: shortLine(title) }));
  const counted = signs.counts.reduce<readonly Omit<BackgroundTask, "since">[]>(corrected, told);
  const isSilent = signs.file?.type === "idle" && !counted.some(({ kind }) => kind === "shell");
  const listed = isSilent && signs.file.background === "shell" ? corrected(counted, ONE_SHELL) : counted;
  const unnamed = unnamedOf(before, listed);
  return listed.map((task) => {
    const known = before.find(({ id }) => id === task.id) ?? unnamed(task.kind);
    return { ...task, since: known?.since ?? now };
  });
}

function corrected(tasks: readonly Omit<BackgroundTask, "since">[], { kind, count }: BackgroundCount) {
  const wanted = Math.min(count, MAX_COUNT);
  const others = tasks.filter((task) => task.kind !== kind);
  const same = tasks.filter((task) => task.kind === kind);
  const kept = same.slice(Math.max(0, same.length - wanted));
  const added = Array.from({ length: wanted - kept.length }, (_, i) => ({ id: unnamedId(kind, i), kind, title: "" }));
  return [...others, ...kept, ...added];
}

/**
 * Returns a function that finds the earlier entry of a task that only a screen had counted and that now has a name: the
 * task keeps the time at which it was counted. Each entry is used once.
 */
function unnamedOf(before: readonly BackgroundTask[], listed: readonly { readonly id: string }[]) {
  const ids = new Set(listed.map(({ id }) => id));
  const free = before.filter(({ id, kind }) => id.startsWith(unnamedId(kind, "")) && !ids.has(id));
  return (kind: BackgroundKind) => {
    const at = free.findIndex((task) => task.kind === kind);
    return at < 0 ? undefined : free.splice(at, 1)[0];
  };
}

const unnamedId = (kind: BackgroundKind, index: number | "") => `${kind}-${index === "" ? "" : index + 1}`;

/** Ids and titles come from an agent, which may have taken them from anywhere. */
function shortLine(text: string): string {
  const plain = foldedLine(text);
  const characters = Array.from(plain.slice(0, 2 * MAX_TITLE + 2));
  return characters.length > MAX_TITLE ? `${characters.slice(0, MAX_TITLE - 1).join("")}…` : plain;
}
