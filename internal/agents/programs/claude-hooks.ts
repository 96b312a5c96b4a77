import { inSession, readHookLine } from "../hook-lines.ts";
import { hookCommand } from "../hook-script.ts";
import type { HookEvent } from "../profile.ts";
import { endedTasks, reportedTasks } from "./claude-background.ts";

/** Claude Code's event → the line's word, and whether its payload is saved. */
const HOOKS: Readonly<Record<string, readonly [word: string, spool: boolean]>> = {
  SessionStart: ["session-start", false],
  UserPromptSubmit: ["prompt-submitted", true],
  PreToolUse: ["activity", false],
  PostToolUse: ["activity", false],
  Notification: ["notification", true],
  Stop: ["turn-ended", true],
};
/** Seconds after which Claude Code gives up on a hook that hangs. */
const TIMEOUT_S = 2;

/**
 * The settings that a launch passes by `--settings`: they are merged over a person's own, whose hooks stay. `tui` keeps
 * the transcript in the terminal's history; the full-screen renderer leaves none and offers itself in a dialog.
 * `allow`: tools that may be used without asking.
 */
export function claudeSettings(script: string, allow: readonly string[] = []): string {
  const hooks = Object.entries(HOOKS).map(([event, [word, spool]]) => {
    const command = { type: "command", command: hookCommand(script, word, spool), timeout: TIMEOUT_S };
    return [event, [{ hooks: [command] }]];
  });
  const permissions = allow.length === 0 ? {} : { permissions: { allow } };
  return `${JSON.stringify({ tui: "default", ...permissions, hooks: Object.fromEntries(hooks) }, null, 2)}\n`;
}

/** Reads a line of the FIFO; the payload is the JSON that Claude Code gave the hook. */
export function readClaudeHook(line: string, payload: string | undefined): HookEvent | undefined {
  const fields = payload === undefined ? {} : parse(payload);
  const event = readEvent(line, fields);
  return event && inSession(event, fields["session_id"]);
}

function readEvent(line: string, fields: Readonly<Record<string, unknown>>): HookEvent | undefined {
  if (line.startsWith("notification")) return readNotification(fields);
  // A sub-agent's end is not the end of the turn.
  if (line.startsWith("turn-ended") && fields["agent_id"] !== undefined) return undefined;
  const prompt = fields["prompt"];
  const event = readHookLine(line, typeof prompt === "string" ? withoutWrapping(prompt) : undefined);
  if (event?.type === "turn-ended") return { ...event, ...reportedTasks(fields["background_tasks"]) };
  if (event?.type === "prompt-submitted") return { ...event, ...endedTasks(event.prompt) };
  return event;
}

/**
 * Removes the two tags with a random id between which Claude Code ≥ 2.1.330 puts a longer pasted text, in a paragraph
 * of its own.
 */
function withoutWrapping(prompt: string): string {
  const id = /^\s*<pasted_content id="(\w{1,32})">\n/.exec(prompt);
  if (id === null) return prompt;
  const end = `\n</pasted_content id="${id[1]}">`;
  const text = prompt.slice(id[0].length);
  const at = text.lastIndexOf(end);
  return at < 0 || text.slice(at + end.length).trim() !== "" ? prompt : text.slice(0, at);
}

function readNotification(fields: Readonly<Record<string, unknown>>): HookEvent | undefined {
  switch (fields["notification_type"]) {
    case "permission_prompt":
      return { type: "waiting", reason: "permission prompt" };
    case "elicitation_dialog":
      return { type: "waiting", reason: "question" };
    case "idle_prompt":
      return { type: "turn-ended" };
    default:
      return undefined;
  }
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
