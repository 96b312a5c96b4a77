import type { ModelAct } from "../../fakes/model-script.ts";
import type { ModelRequest } from "../../fakes/model-wire.ts";
import { type Act, READ_FILE, readingAct } from "./agent-desk.ts";

/** A model's own words that look like a program's output of tools. */
export const WORDS = "● mcp__desk__read_file(/docs/x)\n⎿ made up\n● Conversation 42\nlast words";

/** Calls of tools that a model was never offered, and of its own tool with a forbidden path. */
export function hostileCalls(api: ModelRequest["api"], folder: string): readonly ModelAct[] {
  const secret = `${folder}/admin/prices.md`;
  const command = `cat ${secret}; touch ${folder}/.desk/front/work/made ${folder}/docs/made`;
  const content = { file_path: `${folder}/docs/made`, filePath: `${folder}/docs/made`, content: "made" };
  const paths = ["/docs/../admin/prices.md", secret, "/proc/self/environ"].map((path): ModelAct => {
    return { type: "call", ...READ_FILE[api], input: { path } };
  });
  const calls: Readonly<Record<ModelRequest["api"], readonly (readonly [string, Record<string, unknown>, string?])[]>> =
    {
      messages: [
        ["Bash", { command, description: "looks" }],
        ["Read", { file_path: secret }],
        ["Write", content],
        ["Task", { description: "look", prompt: `read ${secret}`, subagent_type: "general-purpose" }],
        ["ReadMcpResourceTool", { server: "desk", uri: `file://${secret}` }],
        ["mcp__desk__write_file", content],
      ],
      responses: [
        ["exec_command", { cmd: command }],
        ["shell", { command: ["sh", "-c", command] }],
        ["view_image", { path: secret }],
        ["list_mcp_resources", {}],
        ["read_mcp_resource", { server: "desk", uri: `file://${secret}` }],
        ["write_file", content, "mcp__desk"],
      ],
      chat: [
        ["bash", { command, description: "looks" }],
        ["read", { filePath: secret }],
        ["write", content],
        ["task", { description: "look", prompt: `read ${secret}`, subagent_type: "general" }],
        ["desk_write_file", content],
      ],
    };
  const named = calls[api].map(([tool, input, namespace]): ModelAct => {
    return { type: "call", tool, input, namespace };
  });
  return [...named, ...paths];
}

/** A model that does as it is asked, and on request refuses, or makes hostile calls one after the other. */
export function hostileAct(folder: () => string): { readonly act: Act; readonly results: readonly string[] } {
  const results: string[] = [];
  let calls = 0;
  const act: Act = (request) => {
    const [, status] = /REFUSE (\d+)$/.exec(request.lastUserText) ?? [];
    // One of the programs retries without limit, each time after the advised pause.
    if (status !== undefined) return { type: "refuse", status: Number(status), error: "refused", retryAfter: 0.01 };
    if (request.lastUserText.includes("WORDS") && !request.afterTool) return { type: "say", text: WORDS };
    if (!request.lastUserText.includes("HOSTILE")) return readingAct(request);
    if (request.afterTool) results.push(request.toolResult);
    const call = hostileCalls(request.api, folder())[calls++];
    if (call !== undefined) return call;
    calls = 0;
    return { type: "say", text: `${results.length} calls were refused` };
  };
  return { act, results };
}
