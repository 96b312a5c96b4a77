import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gt } from "../support/bridge/gt-transcript.ts";
import { requireComponent } from "../support/cluster/components.ts";
import { eventually } from "../support/eventually.ts";
import { ThreadAgent } from "../support/threads/thread-agent.ts";
import { type ModelReply, threadModel } from "../support/threads/thread-model.ts";
import { ThreadsServer } from "../support/threads/threads-server.ts";

/** Two agent programs start and answer four times in all, which takes minutes while other work has the cores. */
const TEST_MS = 1_200_000;
const TALK_MS = 420_000;
const ENDED: ReadonlySet<string> = new Set(["ACKED", "CANCELLED"]);
const TYPED: ReadonlySet<string> = new Set(["submitted", "unknown"]);
const FINDING = "total() returns NaN for an empty cart";

const REVIEWS: ModelReply = ({ kind, event_type: event, text }) => {
  const finding = { event_type: "finding_reported", metadata: { path: "src/cart.ts", line: 42 }, to_role: ["fixer"] };
  if (kind === "chat") return { ...finding, text: FINDING };
  if (event === "fix_pushed") return { event_type: "resolved", text: `looked again: ${text}` };
  return undefined;
};

const FIXES: ModelReply = ({ event_type: event, text, message_id: finding }) => {
  if (event !== "finding_reported") return undefined;
  const fix = { event_type: "fix_pushed", metadata: { commit: "4f0c2ab", fixes: [finding] }, to_role: ["reviewer"] };
  return { ...fix, text: `fixed: ${text}` };
};

const ANSWERS: ModelReply = ({ kind, text }) =>
  kind === "chat" ? { event_type: "answer", text: `yes: ${text}` } : undefined;

interface Shown {
  readonly messages: readonly { readonly text: string; readonly event_type?: string; readonly sender: Sender }[];
  readonly wakes: readonly Wake[];
}
interface Sender {
  readonly agent_id: string;
}
interface Wake {
  readonly agent_id: string;
  readonly state: string;
  readonly outcome: string;
}

async function shownBy(server: ThreadsServer, thread: string): Promise<Shown> {
  const { code, stdout, stderr } = await gt(["threads", "show", thread, "--json"], server.env);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as Shown;
}

/** For a failed test: the thread's contents, and the actions of the server and of each agent. */
async function story(server: ThreadsServer, thread: string, agents: readonly ThreadAgent[]): Promise<string> {
  const { stdout, stderr } = await gt(["threads", "show", thread, "--json"], server.env);
  const told = await Promise.all(agents.map((agent) => agent.story()));
  return [stdout, stderr, "== threads", server.log, ...told].join("\n");
}

interface Talk {
  /** The arguments of the person's first message. */
  readonly post: readonly string[];
  readonly agents: readonly ThreadAgent[];
  /** The event that ends the conversation. */
  readonly last: string;
}

/** Creates a thread of the person and these agents, posts one message, and follows the conversation. */
async function conversation(server: ThreadsServer, { post, agents, last }: Talk) {
  const members = agents.flatMap(({ address, role }) => ["--with", `${address}:${role}`]);
  const made = await gt(["threads", "new", "review of the cart", ...members], server.env);
  expect(made).toMatchObject({ code: 0, stderr: "" });
  const thread = made.stdout.trim();
  expect((await gt(["threads", "post", thread, ...post], server.env)).code).toBe(0);
  using person = server.client("tester", "operator");
  const call = async (name: string) => await person.call(name, { thread_id: thread }, AbortSignal.timeout(TALK_MS));
  const isOver = async () => {
    const { messages, wakes } = { ...(await call("read_messages")), ...(await call("list_wakes")) } as unknown as Shown;
    return messages.some((one) => one.event_type === last) && wakes.every((one) => ENDED.has(one.state));
  };
  try {
    await eventually(`a message ${last}, and each wake acknowledged`, isOver, TALK_MS);
  } catch (err) {
    throw new Error(await story(server, thread, agents), { cause: err });
  }
  return { threadId: thread, ...(await shownBy(server, thread)) };
}

describe("real agents in threads", () => {
  let server: ThreadsServer;
  beforeAll(async () => {
    server = await ThreadsServer.start();
  }, TEST_MS);
  afterAll(() => server?.[Symbol.asyncDispose]());

  it("launch criterion: Claude Code and Codex review, fix and review again, each woken, without a dialog", {
    timeout: TEST_MS,
  }, async (context) => {
    await requireComponent(context, "claude");
    await requireComponent(context, "codex");
    await using reviewer = await ThreadAgent.start(server, {
      ...{ program: "claude-2.1.330", role: "reviewer", model: threadModel(REVIEWS) },
    });
    await using fixer = await ThreadAgent.start(server, {
      program: "codex-0.169.0",
      role: "fixer",
      model: threadModel(FIXES),
    });
    const talk = { post: ["please review src/cart.ts", "--role", "reviewer"], last: "resolved" };
    const { threadId, messages, wakes } = await conversation(server, { ...talk, agents: [reviewer, fixer] });
    expect(messages.map((one) => [one.sender.agent_id, one.event_type ?? "chat", one.text])).toEqual([
      ["tester", "chat", "please review src/cart.ts"],
      ["town/reviewer", "finding_reported", FINDING],
      ["town/fixer", "fix_pushed", `fixed: ${FINDING}`],
      ["town/reviewer", "resolved", `looked again: fixed: ${FINDING}`],
    ]);
    for (const agent of ["town/reviewer", "town/fixer"]) {
      expect(wakes).toContainEqual(expect.objectContaining({ agent_id: agent, state: "ACKED" }));
    }
    // A busy machine may leave a wake without its proof; then the agent's answer proves that it arrived.
    expect(wakes.filter(({ outcome }) => !TYPED.has(outcome))).toEqual([]);
    expect(await reviewer.dialogs()).toEqual([]);
    expect(await fixer.dialogs()).toEqual([]);
    const { stdout } = await gt(["threads", "show", threadId], server.env);
    expect(stdout).toContain("town/fixer fix_pushed 4f0c2ab → role reviewer");
    expect(stdout).toMatch(/ACKED {2}town\/fixer {2}\w+/);
  });

  it("OpenCode answers with its tools when it is woken, without a dialog", { timeout: TEST_MS }, async (context) => {
    await requireComponent(context, "opencode");
    await using helper = await ThreadAgent.start(server, {
      ...{ program: "opencode-1.18.33", role: "helper", model: threadModel(ANSWERS) },
    });
    const talk = { post: ["is the shed green?", "--to", "town/helper"], last: "answer" };
    const { messages } = await conversation(server, { ...talk, agents: [helper] });
    expect(messages.map((one) => one.text)).toEqual(["is the shed green?", "yes: is the shed green?"]);
    expect(await helper.dialogs()).toEqual([]);
  });
});
