import type { ModelAct } from "../../fakes/model-script.ts";
import { SHELL_TOOLS } from "../../fakes/model-script.ts";
import type { ModelRequest } from "../../fakes/model-wire.ts";
import type { DialogCase } from "./dialog-case.ts";

/** The message that makes the model ask for a case. */
export const callFor = ({ id }: DialogCase): string => `CASE ${id}`;

/** The fake model: asks once for the case that the last message names. */
export function dialogAct(request: ModelRequest, cases: ReadonlyMap<string, DialogCase>, workdir: string): ModelAct {
  const id = /CASE ([\w.-]+)/.exec(request.lastUserText)?.[1] ?? "";
  const found = cases.get(id);
  if (request.afterTool || found === undefined) return { type: "say", text: "Done." };
  return callOf(found, request.tools, workdir);
}

function callOf({ ask }: DialogCase, tools: readonly string[], workdir: string): ModelAct {
  switch (ask.type) {
    case "command": {
      const tool = SHELL_TOOLS.find((name) => tools.includes(name)) ?? "Bash";
      const input: Record<string, unknown> =
        tool === "exec_command"
          ? { cmd: ask.command, sandbox_permissions: "require_escalated", justification: ask.reason }
          : { command: ask.command, description: ask.reason };
      return { type: "call", tool, input };
    }
    case "write": {
      const path = `${workdir}/${ask.file}`;
      const { content } = ask;
      if (tools.includes("Write")) return { type: "call", tool: "Write", input: { file_path: path, content } };
      return { type: "call", tool: "write", input: { filePath: path, content } };
    }
    case "question": {
      const tool = ["AskUserQuestion", "question", "request_user_input"].find((name) => tools.includes(name));
      const question = { id: "which", multiSelect: false, ...ask.question };
      return { type: "call", tool: tool ?? "question", input: { questions: [question] } };
    }
  }
}
