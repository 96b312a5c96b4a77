/** The fake model's reaction to one request. */
export type ModelAct =
  | { readonly type: "say"; readonly text: string }
  | {
      readonly type: "call";
      readonly tool: string;
      readonly namespace?: string | undefined;
      readonly input: Readonly<Record<string, unknown>>;
    }
  /** `retryAfter`: seconds, default an hour; 0: no advice. */
  | { readonly type: "refuse"; readonly status: number; readonly error: string; readonly retryAfter?: number }
  /** The request is never answered. */
  | { readonly type: "hang" };

/**
 * The intent behind a keyword; each agent names its tools in its own way, so the tool is found in the request's list.
 */
interface Wish {
  readonly keyword: string;
  readonly act: (rest: string, tools: readonly string[]) => ModelAct | undefined;
}

/** The agent programs' names for the tool that runs a command. */
export const SHELL_TOOLS = ["Bash", "bash", "exec_command", "shell_command", "shell", "local_shell"];

function pick(tools: readonly string[], wanted: readonly string[]): string | undefined {
  return wanted.find((name) => tools.includes(name));
}

function shellCall(command: string, tools: readonly string[]): ModelAct | undefined {
  const tool = pick(tools, SHELL_TOOLS);
  if (tool === undefined) return undefined;
  const input: Record<string, unknown> =
    tool === "exec_command"
      ? { cmd: command, sandbox_permissions: "require_escalated", justification: "Run the command that was asked for?" }
      : tool === "shell"
        ? { command: ["sh", "-c", command], with_escalated_permissions: true, justification: "asked for" }
        : { command, description: "Runs the command that was asked for" };
  return { type: "call", tool, input };
}

/** A command that continues in the background after the turn; only some agents support this. */
function backgroundCall(command: string, tools: readonly string[]): ModelAct | undefined {
  const tool = pick(tools, ["Bash", "exec_command"]);
  if (tool === undefined) return undefined;
  if (tool === "exec_command") return { type: "call", tool, input: { cmd: command, yield_time_ms: 1000, tty: true } };
  const input = { command, description: "Runs a server", run_in_background: true };
  return { type: "call", tool, input };
}

/** A sub-agent, which gets `prompt` as its task. */
function helperCall(prompt: string, tools: readonly string[]): ModelAct | undefined {
  const tool = pick(tools, ["Agent", "Task"]);
  if (tool === undefined) return undefined;
  const input = { description: "Looks around", prompt, subagent_type: "general-purpose", run_in_background: true };
  return { type: "call", tool, input };
}

function writeCall(path: string, tools: readonly string[]): ModelAct | undefined {
  const tool = pick(tools, ["Write", "write"]);
  if (tool === undefined) return undefined;
  const content = "written by the pretended model\n";
  return { type: "call", tool, input: { [tool === "Write" ? "file_path" : "filePath"]: path, content } };
}

function questionCall(_rest: string, tools: readonly string[]): ModelAct | undefined {
  const tool = pick(tools, ["AskUserQuestion", "question", "request_user_input"]);
  if (tool === undefined) return undefined;
  const question = {
    id: "colour",
    question: "Which colour shall the shed have?",
    header: "Colour",
    multiSelect: false,
    options: [
      { label: "Green", description: "like the hedge" },
      { label: "Blue", description: "like the sky" },
    ],
  };
  return { type: "call", tool, input: { questions: [question] } };
}

function planCall(_rest: string, tools: readonly string[]): ModelAct | undefined {
  const tool = pick(tools, ["ExitPlanMode", "plan_exit"]);
  return tool === undefined
    ? undefined
    : { type: "call", tool, input: { plan: "1. Paint the shed.\n2. Let it dry.\n", allowedPrompts: [] } };
}

/** Keywords at the beginning of a message; the rest is the argument. */
const WISHES: readonly Wish[] = [
  { keyword: "RUN-BEHIND", act: backgroundCall },
  { keyword: "ASK-HELPER", act: helperCall },
  { keyword: "RUN-TOOL", act: shellCall },
  { keyword: "WRITE-FILE", act: writeCall },
  { keyword: "ASK-ME", act: questionCall },
  { keyword: "PLAN-IT", act: planCall },
  {
    keyword: "TALK",
    act: (rest) => ({
      type: "say",
      text: Array.from({ length: Number(rest) || 50 }, (_, i) => `word${i + 1}`).join(" "),
    }),
  },
  { keyword: "SAY", act: (rest) => ({ type: "say", text: rest.replaceAll("\\n", "\n") }) },
  { keyword: "HIT-LIMIT", act: () => ({ type: "refuse", status: 429, error: "rate_limit_error" }) },
];

/** Decides by the last user text: the first keyword found in it wins, else a short answer. */
export function modelAct(lastUserText: string, tools: readonly string[], afterTool: boolean): ModelAct {
  if (afterTool) return { type: "say", text: "Done with the tool." };
  for (const wish of WISHES) {
    const at = lastUserText.indexOf(wish.keyword);
    if (at < 0) continue;
    const rest = lastUserText.slice(at + wish.keyword.length).split("\n", 1)[0] ?? "";
    const act = wish.act(rest.trim(), tools);
    if (act !== undefined) return act;
  }
  return { type: "say", text: "Understood." };
}
