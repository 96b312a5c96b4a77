// A small ACP agent over stdio, for tests: one JSON-RPC frame per line. It answers prompts with an update and a text.
// Some prompts are commands: "wait" is never answered, "ask" asks for a permission first, "exit" ends the process, "env
// NAME" returns a variable, "pid" the process id, "leave" starts a process in its own session and returns its pid.
// "large" sends an update of 2 MiB first. "recall" returns the prompts of its session so far. With ACP_AGENT_SESSIONS,
// a folder, it can load its sessions, and with ACP_AGENT_RESUMES it can also resume them; each load or resume adds a
// line to the log. ACP_AGENT_LOG: a file that gets a line for each prompt on arrival. ACP_AGENT_ENDS: the agent exits
// at once with this code.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

interface Call {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly sessionId?: string; readonly prompt?: readonly { readonly text?: string }[] };
  readonly result?: { readonly outcome?: { readonly optionId?: string } };
}

const {
  ACP_AGENT_ENDS: ends,
  ACP_AGENT_LOG: logFile,
  ACP_AGENT_SESSIONS: folder,
  ACP_AGENT_RESUMES: resumes,
} = process.env;
if (ends !== undefined) process.exit(Number(ends));

let session = "";
let sessions = 0;
let said: string[] = [];
let prompts = 0;
let asked: number | undefined;

function send(frame: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...frame })}\n`);
}

function update(value: object): void {
  send({ method: "session/update", params: { sessionId: session, update: value } });
}

function log(line: string): void {
  if (logFile !== undefined) appendFileSync(logFile, `${line}\n`);
}

function create(id: number | undefined): void {
  session = `sess-${process.pid}-${++sessions}`;
  said = [];
  send({ id, result: { sessionId: session } });
}

function reopen(id: number | undefined, sessionId: string, isLoad: boolean): void {
  const file = join(folder ?? "", sessionId);
  if (folder === undefined || !existsSync(file)) {
    send({ id, error: { code: -32002, message: "no session" } });
    return;
  }
  log(isLoad ? "load" : "resume");
  session = sessionId;
  said = readFileSync(file, "utf8").trim().split("\n");
  for (const text of isLoad ? said : []) {
    update({ sessionUpdate: "user_message_chunk", content: { type: "text", text } });
    update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: `said before: ${text}` } });
  }
  send({ id, result: {} });
}

function end(id: number | undefined, text: string): void {
  update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  send({ id, result: { stopReason: "end_turn" } });
}

function askLeave(id: number | undefined): void {
  asked = id;
  const options = [
    { optionId: "yes", name: "Yes", kind: "allow_once" },
    { optionId: "no", name: "No", kind: "reject_once" },
  ];
  const params = { sessionId: session, toolCall: { toolCallId: "t1", kind: "edit" }, options };
  send({ id: 1000, method: "session/request_permission", params });
}

function leave(): string {
  const child = spawn("sleep", ["3600"], { detached: true, stdio: "ignore" });
  child.unref();
  return String(child.pid);
}

function prompted(id: number | undefined, text: string): void {
  prompts++;
  log(text);
  said.push(text);
  if (folder !== undefined) writeFileSync(join(folder, session), said.join("\n"));
  const [word = "", name = ""] = text.split(" ");
  if (word === "exit") process.exit(3);
  if (word === "ask") askLeave(id);
  else if (word !== "wait") end(id, answerTo(word, name) ?? `prompt ${prompts}: ${text}`);
}

function answerTo(word: string, name: string): string | undefined {
  if (word === "env") return process.env[name] ?? "not set";
  if (word === "pid") return String(process.pid);
  if (word === "leave") return leave();
  if (word === "recall") return said.slice(0, -1).join(", ");
  if (word === "large") update({ sessionUpdate: "a_large_kind", data: "x".repeat(2 * 1024 * 1024) });
  process.stdout.write(
    `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"${session}",` +
      '"update":{"sessionUpdate":"a_new_kind","big":9007199254740993,"_meta":{"x":1}}}}\n',
  );
  return undefined;
}

const agentCapabilities = {
  loadSession: folder === undefined ? undefined : true,
  sessionCapabilities: resumes === undefined ? undefined : { resume: {} },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, result } = JSON.parse(line) as Call;
  if (method === "initialize") send({ id, result: { protocolVersion: 1, agentCapabilities } });
  else if (method === "session/new") create(id);
  else if (method === "session/load") reopen(id, params?.sessionId ?? "", true);
  else if (method === "session/resume") reopen(id, params?.sessionId ?? "", false);
  else if (method === "session/prompt") prompted(id, params?.prompt?.[0]?.text ?? "");
  else if (method !== undefined && id !== undefined) send({ id, error: { code: -32601, message: "no" } });
  else if (id === 1000) end(asked, `decided ${result?.outcome?.optionId ?? "cancelled"}`);
});
