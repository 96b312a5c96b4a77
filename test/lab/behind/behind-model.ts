import { type ModelAct, modelAct } from "../../fakes/model-script.ts";
import type { ModelRequest } from "../../fakes/model-wire.ts";

const TASKS = ["task", "Task"];

/**
 * The usual model, with three differences: it starts nothing when it learns that a background task has ended; for
 * `ASK-AND-WAIT task` it hands the task to a sub-agent that the turn waits for; for `STOP-TASK id` it stops a
 * background task.
 */
export function behindAct({ userTexts, lastUserText, tools, afterTool }: ModelRequest): ModelAct {
  if (userTexts.at(-1)?.includes("<task-notification>")) return { type: "say", text: "I see." };
  if (afterTool) return { type: "say", text: "Done with the tool." };
  const [, id] = /STOP-TASK (\S+)/.exec(lastUserText) ?? [];
  if (id !== undefined) return { type: "call", tool: "TaskStop", input: { task_id: id } };
  const [, prompt] = /ASK-AND-WAIT (.+)/.exec(lastUserText) ?? [];
  const tool = TASKS.find((name) => tools.includes(name));
  if (prompt !== undefined && tool !== undefined) {
    return { type: "call", tool, input: { description: "Looks around", prompt, subagent_type: "general" } };
  }
  return modelAct(lastUserText, tools, afterTool);
}
