import type { BackgroundKind, ReportedTask } from "../profile.ts";

/** Tasks beyond this number are left out; an agent that starts so many is out of control. */
const MAX_TASKS = 100;
const MAX_ID = 128;
const MAX_TITLE = 1100;
const KINDS: ReadonlySet<string> = new Set(["subagent", "shell", "workflow"]);
const ENDED = /<task-notification>\s*<task-id>([^<]{1,128})<\/task-id>[\s\S]{0,4096}?<status>(\w+)<\/status>/g;

/**
 * The running and pending `background_tasks` of Claude Code's Stop hook (≥ 2.1.145). `background` is absent if the
 * payload has no such list, and empty if no task is running or pending.
 */
export function reportedTasks(value: unknown): { readonly background?: readonly ReportedTask[] } {
  if (!Array.isArray(value)) return {};
  const tasks = value.slice(0, MAX_TASKS).map(readTask);
  return { background: tasks.filter((task) => task !== undefined) };
}

/** The tasks whose end Claude Code reports in a prompt of its own. */
export function endedTasks(prompt: string | undefined): { readonly endedTasks?: readonly string[] } {
  if (prompt === undefined || !prompt.trimStart().startsWith("<task-notification>")) return {};
  const ended = [...prompt.matchAll(ENDED)].filter(([, , status]) => status !== "running");
  return { endedTasks: ended.map(([, id = ""]) => id) };
}

function readTask(value: unknown): ReportedTask | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { id, type, status, description, command } = value as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" || id === "" || id.length > MAX_ID) return undefined;
  if (status !== "running" && status !== "pending") return undefined;
  const kind: BackgroundKind = typeof type === "string" && KINDS.has(type) ? (type as BackgroundKind) : "other";
  const title = [description, command].find((text) => typeof text === "string" && text !== "");
  return { id, kind, title: typeof title === "string" ? title.slice(0, MAX_TITLE) : "" };
}
