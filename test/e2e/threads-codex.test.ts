import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, open, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, it, type TestContext } from "vitest";
import { asObjects, type Json } from "../../internal/base/json-fields.ts";
import { processLives } from "../../internal/process/process-lives.ts";
import { ModelServer } from "../fakes/model-server.ts";
import { makeAgentHome } from "../support/agents/agents-home.ts";
import { agentProgram } from "../support/agents/agents-install.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import { requireComponent } from "../support/cluster/components.ts";
import { eventually } from "../support/eventually.ts";
import { programFile } from "../support/programs.ts";
import { runToEnd } from "../support/run-to-end.ts";
import { runProgramOf } from "../support/threads/run-threads.ts";
import { TestDatabase } from "../support/threads/test-database.ts";
import { threadModel } from "../support/threads/thread-model.ts";
import { startThread, ThreadsServer } from "../support/threads/threads-server.ts";

const LONG = AbortSignal.timeout(900_000);
const TURN_MS = 240_000;
const AGENT = "town/coder";

async function folder(context: TestContext): Promise<string> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), "gt-codex-")));
  context.onTestFinished(() => rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
  return dir;
}

/** A server, an agent that reported its conversation five minutes ago, and a thread with that agent. */
class Town implements AsyncDisposable {
  readonly server: ThreadsServer;
  readonly threadId: string;
  readonly #stack: AsyncDisposableStack;

  private constructor(server: ThreadsServer, threadId: string, stack: AsyncDisposableStack) {
    [this.server, this.threadId, this.#stack] = [server, threadId, stack];
  }

  static async start(env: Readonly<Record<string, string>>, conversation: string): Promise<Town> {
    await using stack = new AsyncDisposableStack();
    const database = stack.use(await TestDatabase.start());
    const url = database.url();
    expect(await runProgramOf("threads", ["migrate", "--database-url", url])).toMatchObject({ code: 0 });
    const keys = stack.use(await ThreadsServer.start("--database-url", url, "--runtime", "none"));
    // The server reads the database's address from its environment; its agents must not inherit it.
    const server = stack.use(await keys.beside({ ...env, GT_THREADS_DATABASE_URL: url, PGAPPNAME: "threads" }, []));
    using person = server.client("tester", "operator");
    using coder = server.client(AGENT);
    await coder.call("heartbeat_session", { agent_session_id: conversation }, LONG);
    await database.query("update threads.session set last_heartbeat_at = now() - interval '5 minutes'");
    const threadId = await startThread(person, "shed", [AGENT], LONG);
    return new Town(server, threadId, stack.move());
  }

  async call(name: string, input: JsonObject): Promise<Json> {
    using person = this.server.client("tester", "operator");
    return await person.call(name, input, LONG);
  }

  post(text: string): Promise<Json> {
    return this.call("post_message", { thread_id: this.threadId, text });
  }

  async texts(): Promise<readonly unknown[]> {
    const { messages } = await this.call("read_messages", { thread_id: this.threadId, after_seq: 0 });
    return asObjects(messages).map((one) => one["text"]);
  }

  /** The agent's newest wake. */
  async wake(): Promise<Json> {
    const { wakes } = await this.call("list_wakes", { agent_id: AGENT });
    return asObjects(wakes)[0] ?? {};
  }

  async untilWake(what: string, fields: Json): Promise<void> {
    const isSo = (wake: Json) => Object.entries(fields).every(([name, value]) => wake[name] === value);
    await eventually(what, async () => isSo(await this.wake()), TURN_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

it("FR-10: codex exec resume continues a Codex conversation that no program has open, and it answers in its thread", {
  timeout: 900_000,
}, async (context) => {
  await requireComponent(context, "codex");
  const dir = await folder(context);
  await using model = await ModelServer.listen({
    ...{
      wordDelayMs: 0,
      act: threadModel(({ text, event_type }) =>
        event_type ? undefined : { text: `done: ${text}`, event_type: "answer" },
      ),
    },
  });
  const { env, workdir } = await makeAgentHome({ agent: "codex", dir, modelUrl: model.url });
  await mkdir(join(dir, "bin"));
  const codex = await agentProgram("codex-0.169.0");
  await writeFile(join(dir, "bin", "codex"), `#!/bin/sh\nenv > '${dir}/env'\nexec '${codex}' "$@"\n`, { mode: 0o755 });
  const begun = ["exec", "--skip-git-repo-check", "remember the shed"];
  const first = await runToEnd(codex, begun, { env, cwd: workdir, timeoutMs: TURN_MS });
  expect(first, first.stderr).toMatchObject({ code: 0 });
  const sessions = join(env["CODEX_HOME"] ?? "", "sessions");
  const [file = "", conversation = ""] =
    /\S*rollout-[\dT-]{19}-([\da-f-]{36})\.jsonl/.exec((await readdir(sessions, { recursive: true })).join("\n")) ?? [];
  await using town = await Town.start({ ...env, PATH: `${join(dir, "bin")}:${env["PATH"]}` }, conversation);
  const isAnswered = (text: string) =>
    eventually(`the answer to ${text}`, async () => (await town.texts()).includes(`done: ${text}`), TURN_MS);
  const hasRun = () => existsSync(join(dir, "env"));

  await town.post("paint it");
  await town.untilWake("the policy refuses", { state: "DEFERRED", blocked_by: "unreachable" });
  // A person looks at the conversation.
  const opened = await open(join(sessions, file));
  await town.call("set_policy", { policy: { unmanaged: "resume" } });
  const looks = async (count: number) => {
    const seen = new Set<unknown>();
    await eventually(
      "the server defers the wake again",
      async () => seen.add((await town.wake())["due_at"]).size > count,
      TURN_MS,
    );
  };
  await looks(2);
  await using sidecar = await endedAgent(town.server, dir);
  await opened.close();
  await looks(2);
  expect(hasRun()).toBe(false);
  await sidecar[Symbol.asyncDispose]();

  await isAnswered("paint it");
  await town.untilWake("the wake has ended", { state: "ACKED", outcome: "submitted" });
  const given = await readFile(join(dir, "env"), "utf8");
  expect(given).toContain(`GT_THREADS=${town.server.url}\n`);
  expect(given).not.toMatch(/^(?:GT_THREADS_DATABASE_URL|GT_THREADS_STATE_DIR|PG\w+)=|postgres:/m);
  expect(readdirSync(join(town.server.stateDir, "turns"))).toEqual([]);
  // Codex has ended, so the next message does not wait for it.
  await town.post("paint it red");
  await isAnswered("paint it red");
  for (const text of ["paint it", "remember the shed"]) expect(town.server.log).not.toContain(text);
});

it("F4: when a server is killed, its turn ends, is reported as UNKNOWN, and does not run again", {
  timeout: 900_000,
}, async (context) => {
  const dir = await folder(context);
  const conversation = crypto.randomUUID();
  const day = join(dir, "codex", "sessions", "2026", "11", "28");
  for (const path of [day, join(dir, "bin")]) await mkdir(path, { recursive: true });
  const meta = { type: "session_meta", payload: { id: conversation, cwd: dir } };
  await writeFile(join(day, `rollout-1-${conversation}.jsonl`), `${JSON.stringify(meta)}\n`);
  const turn = `#!/bin/sh\nsetsid sleep 1001 & echo $$ $! >> '${dir}/p'; cp '${dir}/p' '${dir}/pids'; wait\n`;
  await writeFile(join(dir, "bin", "codex"), turn, { mode: 0o755 });
  const env = { PATH: `${join(dir, "bin")}:${process.env["PATH"]}`, CODEX_HOME: join(dir, "codex") };
  await using town = await Town.start(env, conversation);
  await town.call("set_policy", { policy: { unmanaged: "resume" } });
  await town.post("paint it");
  await eventually("the turn has begun", () => existsSync(join(dir, "pids")), TURN_MS);
  const pids = (await readFile(join(dir, "pids"), "utf8")).trim().split(/\s+/).map(Number);
  await town.server.end("SIGKILL");
  await eventually("the turn has ended", () => !pids.some(processLives), TURN_MS);
  const tokens = () => readdirSync(join(town.server.stateDir, "turns"));
  expect(tokens()).toHaveLength(1);
  await town.server.begin();
  expect(tokens()).toEqual([]);
  await town.untilWake("the wake has no proof", { state: "UNKNOWN", outcome: "unknown" });
  expect((await readFile(join(dir, "p"), "utf8")).trim().split("\n")).toHaveLength(1);
});

/** A sidecar that still serves after its agent has ended. */
async function endedAgent({ env }: ThreadsServer, dir: string): Promise<AsyncDisposable> {
  const flags = ["--agent", "generic", "--address", AGENT, "--project", "default", "--listen", "127.0.0.1:0"];
  const child: ChildProcess = spawn(
    process.execPath,
    [
      ...[programFile("gt-sidecar"), ...flags, "--health-listen", "127.0.0.1:0", "--state-dir", join(dir, "sidecar")],
      ...["--restart", "never", "--linger", "1h", "--", "true"],
    ],
    { env: { ...env }, stdio: "ignore" },
  );
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, "close");
    child.kill("SIGTERM");
    await closed;
  };
  const status = ["status", AGENT, "--json"];
  const isDead = async () => /"alive": ?false/.test((await gt(status, env)).stdout);
  await eventually("the sidecar reports that its agent has ended", isDead, TURN_MS);
  return { [Symbol.asyncDispose]: stop };
}
