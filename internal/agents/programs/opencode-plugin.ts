import { pathToFileURL } from "node:url";
import { parsedObject, type ThreadTools, withOpencodeServer } from "../thread-tools.ts";

/** Name of the plugin below the launch's folder. */
export const PLUGIN_FILE = "opencode-plugin.js";

/**
 * A plugin that runs inside OpenCode and reports like a hook: one short line to the FIFO per event, a message's text in
 * a private file that the line names. It never waits (a full FIFO loses the line), reports nothing about subagents, and
 * does not change what OpenCode does.
 */
export function pluginSource(): string {
  return `import { closeSync, constants, fstatSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";

const children = new Set();
let count = 0;

function report(line) {
  try {
    const fd = openSync(process.env.GT_HOOK_FIFO, constants.O_RDWR | constants.O_NONBLOCK);
    try {
      if (fstatSync(fd).isFIFO()) writeSync(fd, line + "\\n");
    } finally {
      closeSync(fd);
    }
  } catch {}
}

let told;

function tell(id) {
  if (id === told || typeof id !== "string") return;
  told = id;
  report("session " + id);
}

function spool(text) {
  try {
    const name = "payload." + process.pid + "." + ++count;
    writeFileSync(join(process.env.GT_HOOK_DIR, name), text, { mode: 0o600, flag: "wx" });
    return " " + name;
  } catch {
    return "";
  }
}

function onEvent(type, properties) {
  if (type === "session.created" && properties.info?.parentID) children.add(properties.info.id);
  if (children.has(properties.sessionID)) return;
  if (type === "session.status") tell(properties.sessionID);
  if (type === "session.idle") report("turn-ended");
  else if (type === "session.status" && properties.status?.type === "busy") report("activity");
  else if (type === "permission.asked") report("waiting permission");
  else if (type === "question.asked") report("waiting question");
  else if (type === "permission.replied" || type === "question.replied") report("activity");
}

export const GastownHooks = async () => ({
  event: async ({ event }) => onEvent(event.type, event.properties ?? {}),
  "chat.message": async (input, output) => {
    if (children.has(input.sessionID)) return;
    tell(input.sessionID);
    const parts = (output.parts ?? []).filter((part) => part.type === "text" && !part.synthetic);
    report("prompt-submitted" + spool(parts.map((part) => part.text).join("")));
  },
});
`;
}

/**
 * The value of the variable with settings that OpenCode merges over those in the user's files: the user's own value
 * with the plugin added, and with the tools of `threads` if given. Undefined if the user's own value cannot be parsed.
 */
export function configWithPlugin(
  own: string | undefined,
  plugin: string,
  threads: ThreadTools | undefined,
): string | undefined {
  const config = own === undefined || own.trim() === "" ? {} : parsedObject(own);
  if (config === undefined) return undefined;
  const listed: unknown = config["plugin"];
  if (listed !== undefined && !Array.isArray(listed)) return undefined;
  const all = threads === undefined ? config : withOpencodeServer(config, threads);
  return JSON.stringify({ ...all, plugin: [...(listed ?? []), pathToFileURL(plugin).href] });
}
