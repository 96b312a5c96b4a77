import { type ModelAct, modelAct } from "../../fakes/model-script.ts";
import type { ModelRequest } from "../../fakes/model-wire.ts";

const TASKS = ["task", "Task"];

/**
 * As the usual model, but it starts nothing again when it hears that a background task has ended, and it hands
 * work to a sub-agent that the turn waits for when it is asked to `ASK-AND-WAIT task`, and stops a background task
 * when it is asked to `STOP-TASK id`.
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
