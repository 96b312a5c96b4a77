import { type ModelAct, modelAct } from "../../fakes/model-script.ts";
import type { ModelRequest } from "../../fakes/model-wire.ts";

/** What the programs call the tool that ends a background task, and the name of its argument. */
const STOPS: readonly (readonly [tool: string, argument: string])[] = [
  ["TaskStop", "task_id"],
  ["KillShell", "shell_id"],
];
const TASKS = ["task", "Task"];

/**
 * As the usual model, but it starts nothing again when it hears that a background task has ended, and it ends one for
 * `STOP-TASK id` and hands work to a sub-agent that the turn waits for for `ASK-AND-WAIT task`.
 */
export function behindAct({ userTexts, lastUserText, tools, afterTool }: ModelRequest): ModelAct {
  if (userTexts.at(-1)?.includes("<task-notification>")) return { type: "say", text: "I see." };
  if (afterTool) return { type: "say", text: "Done with the tool." };
  const [, id] = /STOP-TASK (\S+)/.exec(lastUserText) ?? [];
  const stop = STOPS.find(([tool]) => tools.includes(tool));
  if (id !== undefined && stop !== undefined) return { type: "call", tool: stop[0], input: { [stop[1]]: id } };
  const [, prompt] = /ASK-AND-WAIT (.+)/.exec(lastUserText) ?? [];
  const tool = TASKS.find((name) => tools.includes(name));
  if (prompt !== undefined && tool !== undefined) {
    return { type: "call", tool, input: { description: "Looks around", prompt, subagent_type: "general" } };
  }
  return modelAct(lastUserText, tools, afterTool);
}
