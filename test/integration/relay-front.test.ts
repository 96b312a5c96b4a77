import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agentProgram } from "../support/agents/agents-install.ts";
import { programFile } from "../support/programs.ts";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { RawEditor } from "../support/relay/raw-editor.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { SeedAgent } from "../support/relay/seed-agent.ts";
import { until } from "../support/sidecar/sidecar.ts";

const AGENT = fileURLToPath(new URL("../fakes/acp-agent-main.ts", import.meta.url));
const ACPX = join(fileURLToPath(new URL("../agents/node_modules", import.meta.url)), "acpx", "dist", "cli.js");
const PAGE = fileURLToPath(new URL("../../docs/relay.md", import.meta.url));
const TIMES = { timeout: 300_000 };

let folder: string;
let nats: NatsServer;
let coordinator: Coordinator;
/** Serves editors, and does no work by itself. */
let front: RelayProcess;
let url: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-front-"));
  nats = await NatsServer.start(await oldestNats());
  coordinator = await Coordinator.connect(nats);
  front = await start("front", {});
  url = await front.url();
}, TIMES.timeout);
afterAll(async () => {
  await front?.[Symbol.asyncDispose]();
  await coordinator?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** A relay; its roles' agents are children. */
async function start(name: string, roles: object): Promise<RelayProcess> {
  const file = join(folder, `${name}.yaml`);
  const turns = { permission_timeout: "30m", create_timeout: "10m" };
  await writeFile(file, JSON.stringify({ turns, roles }));
  return RelayProcess.start(nats.url, { args: ["--config", file] });
}

const child = (more: object = {}) => ({
  link: "stdio",
  command: [process.execPath, AGENT],
  repo_path: folder,
  ...more,
});
const text = (value: string) => [{ type: "text", text: value }];

describe.concurrent("an editor at the front door", () => {
  it("sees updates of unknown kinds and with large numbers unchanged", TIMES, async () => {
    await using worker = await start("worker", { verbatim: child() });
    using editor = await RawEditor.open(`${url}/acp?session=raw&role=verbatim`);
    const sessionId = await editor.begin();
    await editor.call(1, "session/prompt", { sessionId, prompt: text("hello") });
    const update = '"update":{"sessionUpdate":"a_new_kind","big":9007199254740993,"_meta":{"x":1}}';
    expect(editor.frames.filter((frame) => frame.includes(update))).toHaveLength(1);
    expect(await worker.stop()).toBe(0);
  });

  it("sees the text and the tool requests of an agent that does not stream", TIMES, async () => {
    using agent = await SeedAgent.dial(url, { session: "sampled", role: "tools" });
    const tool = { type: "tool_use", id: "t1", name: "bash", input: { command: "ls" } };
    agent.answer = () => ({ role: "assistant", content: [{ type: "text", text: "I look" }, tool] });
    using editor = await RawEditor.open(`${url}/acp?session=sampled&role=tools`);
    const sessionId = await editor.begin();
    const { result } = await editor.call(1, "session/prompt", { sessionId, prompt: text("look") });
    expect(result).toEqual({ stopReason: "end_turn" });
    const updates = editor.values.flatMap(({ params }) => (params as { readonly update?: object })?.update ?? []);
    expect(updates).toEqual([
      { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "I look" } },
      expect.objectContaining({ sessionUpdate: "tool_call", toolCallId: "t1", rawInput: { command: "ls" } }),
    ]);
  });

  it(
    "learns after a kill of its relay that a prompt's outcome is unknown and which updates are missing",
    TIMES,
    async () => {
      const log = join(folder, "killed.log");
      const killed = child({ env: { ACP_AGENT_LOG: log } });
      await using first = await start("first", { killed });
      using editor = await RawEditor.open(`${url}/acp?session=killed&role=killed`);
      const sessionId = await editor.begin();
      await editor.call(1, "session/prompt", { sessionId, prompt: text("before") });
      editor.send({ id: 2, method: "session/prompt", params: { sessionId, prompt: text("ask") } });
      const isAsked = () => editor.values.find(({ method }) => method === "session/request_permission");
      await until("the request for leave", 120_000, isAsked);
      await first[Symbol.asyncDispose]();
      await using second = await start("second", { killed });
      expect((await editor.response(2))["error"]).toMatchObject({ code: -32001, data: { reason: "uncertain" } });
      await editor.call(3, "session/prompt", { sessionId, prompt: text("after") });
      using later = await RawEditor.open(`${url}/acp?session=killed&role=killed`);
      await later.call(1, "initialize", { protocolVersion: 1 });
      const { result } = await later.call(2, "session/load", { sessionId, cwd: "/", mcpServers: [] });
      expect(result).toMatchObject({ _meta: { relay: { missing_works: 2, ignored: ["cwd"] } } });
      expect(later.frames.join("\n")).toContain("[relay: 2 earlier turns are not kept]");
      expect(later.frames.join("\n")).toContain("prompt 1: after");
      expect((await readFile(log, "utf8")).trim().split("\n")).toEqual(["before", "ask", "after"]);
      expect(await second.stop()).toBe(0);
    },
  );

  it("is notified when its relay stops, and does not delay the stop", TIMES, async () => {
    await using leaving = await start("leaving", {});
    using editor = await RawEditor.open(`${await leaving.url()}/acp?role=none`);
    await editor.begin();
    expect(await leaving.stop()).toBe(0);
    expect(await until("the end", 60_000, () => editor.closed)).toBe(1001);
  });

  it("is refused forbidden requests, and the connection continues", TIMES, async () => {
    using editor = await RawEditor.open(`${url}/acp?session=hostile&role=none`);
    editor.send("no JSON");
    editor.send("[]");
    const codeOf = async (id: number, method: string, params: object = {}) =>
      ((await editor.call(id, method, params))["error"] as { readonly code: number }).code;
    const prompt = text("x");
    const sessionId = await editor.begin();
    expect([
      await codeOf(2, "no/such"),
      await codeOf(3, "session/prompt", { sessionId: "other:none", prompt }),
      await codeOf(4, "session/prompt", { sessionId: "hostile:*", prompt }),
      await codeOf(5, "session/prompt", { sessionId, prompt: [] }),
      await codeOf(6, "session/prompt", { sessionId, prompt: "text" }),
      await codeOf(7, "session/new", { _meta: { relay: { session: "other" } } }),
      await codeOf(8, "session/prompt", { sessionId, prompt: [JSON.parse(`${"[".repeat(200)}${"]".repeat(200)}`)] }),
    ]).toEqual([-32601, -32002, -32602, -32602, -32602, -32602, -32602]);
    expect(editor.values.filter(({ id }) => id === null).map(({ error }) => (error as { code: number }).code)).toEqual([
      ...[-32700, -32600],
    ]);
    editor.send({ id: 9, method: "session/prompt", params: { sessionId, prompt } });
    expect(await codeOf(10, "session/prompt", { sessionId, prompt })).toBeLessThan(0);
    editor.send({ method: "session/cancel", params: { sessionId } });
    expect((await editor.response(9))["result"]).toEqual({ stopReason: "cancelled" });
    expect(editor.closed).toBeUndefined();
    editor.send({ id: { no: "id" }, method: "session/new", params: {} });
    const nameless = () => editor.values.filter(({ id }) => id === null).length === 3 || undefined;
    await until("the error for an invalid id", 60_000, nameless);
    for (const query of ["role=a.b", "role=r&role=s", "x=1"]) {
      expect((await fetch(`${url.replace("ws", "http")}/acp?${query}`, { method: "POST" })).status).toBe(400);
    }
  });
});

describe.concurrent("a request before initialize", () => {
  const early = { jsonrpc: "2.0", id: 1, method: "session/new", params: {} };
  const isRefused = { code: -32000, message: "initialize comes first" };

  it("is answered with an error by WebSocket, and the connection continues until the twentieth", TIMES, async () => {
    using editor = await RawEditor.open(`${url}/acp?role=none`);
    editor.send({ id: 8, result: {} });
    expect(await editor.call(1, "session/new")).toEqual({ jsonrpc: "2.0", id: 1, error: isRefused });
    editor.send({ id: null, method: "session/new" });
    expect(await editor.response(null)).toMatchObject({ error: { code: -32600 } });
    expect(await editor.begin()).toMatch(/^editor-.*:none$/);
    using rude = await RawEditor.open(`${url}/acp?role=none`);
    for (let id = 1; id <= 20; id++) rude.send({ ...early, id });
    expect(await until("the end", 60_000, () => rude.closed)).toBe(1002);
    expect(rude.values.map(({ id, error }) => [id, error])).toEqual(
      Array.from({ length: 20 }, (_, i) => [i + 1, isRefused]),
    );
  });

  it("is answered with an error by HTTP", TIMES, async () => {
    const post = async (body: string) => {
      const headers = { "content-type": "application/json" };
      const response = await fetch(`${url.replace("ws", "http")}/acp?role=none`, { method: "POST", headers, body });
      return [response.status, await response.json()];
    };
    expect(await post(JSON.stringify(early))).toEqual([400, { jsonrpc: "2.0", id: 1, error: isRefused }]);
    expect(await post("no JSON")).toMatchObject([400, { id: null, error: { code: -32700 } }]);
  });
});

describe.concurrent("relay acp", () => {
  it("works as an agent of acpx, configured as docs/relay.md says", TIMES, async () => {
    await agentProgram("codex-0.169.0"); // installs acpx as well
    await using worker = await start("acpx", { coding: child() });
    const home = join(folder, "home");
    const bin = join(folder, "bin");
    await Promise.all([home, bin, join(home, ".acpx")].map((dir) => mkdir(dir, { recursive: true })));
    const program = `#!/bin/sh\nexec ${process.execPath} ${programFile("relay")} "$@"\n`;
    await writeFile(join(bin, "relay"), program, { mode: 0o755 });
    const printed = /```json\n(\{\s*"agents"[\s\S]*?)```/.exec(await readFile(PAGE, "utf8"))?.[1] ?? "";
    await writeFile(join(home, ".acpx", "config.json"), printed.replace("ws://127.0.0.1:8080", url));
    const env = { PATH: `${bin}:${process.env["PATH"]}`, HOME: home };
    const { code, stdout, stderr } = await run(["--approve-all", "--format", "quiet", "relay", "exec", "ask"], env);
    expect([code, stdout.trim(), stderr]).toEqual([0, "decided yes", expect.anything()]);
    expect(await worker.stop()).toBe(0);
  });

  it("reports why it cannot reach a relay, and ends with the editor's input", TIMES, async () => {
    const args = (server: string) => ["acp", "--server", server, "--role", "coding"];
    const gone = await runRelayWith(args("ws://127.0.0.1:1"), "");
    expect([gone.code, gone.stdout]).toEqual([4, ""]);
    expect(gone.stderr).toContain("the relay cannot be reached");
    const frame = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } });
    const { code, stdout } = await runRelayWith(args(url), `${frame}\n`, '"loadSession":true');
    expect([code, stdout.split("\n").length]).toEqual([0, 2]);
  });
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  return ended(spawn(process.execPath, [ACPX, ...args], { env, cwd: folder, stdio: ["ignore", "pipe", "pipe"] }));
}

/** Runs the relay with this input, and ends the input once `until` is in the output. */
function runRelayWith(args: readonly string[], input: string, until = ""): Promise<Ended> {
  const relay = spawn(process.execPath, [programFile("relay"), ...args], { stdio: ["pipe", "pipe", "pipe"] });
  relay.stdin.on("error", () => {});
  relay.stdin.write(input);
  let seen = "";
  relay.stdout.on("data", (chunk: Buffer) => {
    seen += chunk;
    if (until !== "" && seen.includes(until)) relay.stdin.end();
  });
  return ended(relay);
}

function ended(program: ReturnType<typeof spawn>): Promise<Ended> {
  const [out, err]: [string[], string[]] = [[], []];
  program.stdout?.setEncoding("utf8").on("data", (chunk: string) => out.push(chunk));
  program.stderr?.setEncoding("utf8").on("data", (chunk: string) => err.push(chunk));
  return new Promise((resolve) => {
    program.once("close", (code) => resolve({ code, stdout: out.join(""), stderr: err.join("") }));
  });
}
