import { describe, expect, it } from "vitest";
import { gt } from "../support/bridge/gt-transcript.ts";
import { requireComponent } from "../support/cluster/components.ts";
import { eventually } from "../support/screens/tmux-sandbox.ts";
import { ThreadAgent } from "../support/threads/thread-agent.ts";
import type { Part } from "../support/threads/thread-model.ts";
import { ThreadsServer } from "../support/threads/threads-server.ts";

/** Three agent programs start, which takes 20 s each where two cores have other work. */
const TEST_MS = 420_000;
const TALK_MS = 180_000;
const FINDING = "total() returns NaN for an empty cart";

const REVIEWS: Part = ({ kind, event_type: event, text }) => {
  const finding = { event_type: "finding_reported", metadata: { path: "src/cart.ts", line: 42 }, to_role: ["fixer"] };
  if (kind === "chat") return { ...finding, text: FINDING };
  if (event === "fix_pushed") return { event_type: "resolved", text: `looked again: ${text}` };
  return undefined;
};

const FIXES: Part = ({ event_type: event, text, message_id: finding }) => {
  if (event !== "finding_reported") return undefined;
  const fix = { event_type: "fix_pushed", metadata: { commit: "4f0c2ab", fixes: [finding] }, to_role: ["reviewer"] };
  return { ...fix, text: `fixed: ${text}` };
};

const ANSWERS: Part = ({ kind, text }) =>
  kind === "chat" ? { event_type: "answer", text: `yes: ${text}` } : undefined;

interface Shown {
  readonly thread: { readonly status: string };
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

/** A thread of the person with these agents, one message in it, and the agents' events up to the last one expected. */
async function conversation(server: ThreadsServer, post: readonly string[], agents: readonly string[], last: string) {
  const made = await gt(["threads", "new", "review of the cart", ...agents], server.env);
  expect(made).toMatchObject({ code: 0, stderr: "" });
  const thread = made.stdout.trim();
  expect((await gt(["threads", "post", thread, ...post], server.env)).code).toBe(0);
  const isOver = async () => {
    const { messages, wakes } = await shownBy(server, thread);
    return messages.some((one) => one.event_type === last) && wakes.every((one) => one.state === "ACKED");
  };
  await eventually(`a message ${last}, and each wake acknowledged`, isOver, TALK_MS);
  return { threadId: thread, ...(await shownBy(server, thread)) };
}

describe("real agents in threads", () => {
  it("launch criterion: Claude Code and Codex review, fix and review again, each woken, without a dialog", {
    timeout: TEST_MS,
  }, async (context) => {
    await requireComponent(context, "claude");
    await requireComponent(context, "codex");
    await using server = await ThreadsServer.start();
    await using reviewer = await ThreadAgent.start(server, {
      ...{ program: "claude-2.1.330", role: "reviewer", part: REVIEWS },
    });
    await using fixer = await ThreadAgent.start(server, { program: "codex-0.169.0", role: "fixer", part: FIXES });
    const agents = ["--with", "town/reviewer:reviewer", "--with", "town/fixer:fixer"];
    const post = ["please review src/cart.ts", "--role", "reviewer"];
    const { threadId, messages, wakes } = await conversation(server, post, agents, "resolved");
    expect(messages.map((one) => [one.sender.agent_id, one.event_type ?? "chat", one.text])).toEqual([
      ["tester", "chat", "please review src/cart.ts"],
      ["town/reviewer", "finding_reported", FINDING],
      ["town/fixer", "fix_pushed", `fixed: ${FINDING}`],
      ["town/reviewer", "resolved", `looked again: fixed: ${FINDING}`],
    ]);
    const woken = wakes.map(({ agent_id, state, outcome }) => [agent_id, state, outcome]);
    for (const agent of ["town/reviewer", "town/fixer"]) {
      expect(woken).toContainEqual([agent, "ACKED", "submitted"]);
    }
    expect(new Set(woken.map(([, , outcome]) => outcome))).toEqual(new Set(["submitted"]));
    expect(await reviewer.dialogs()).toEqual([]);
    expect(await fixer.dialogs()).toEqual([]);
    const { stdout } = await gt(["threads", "show", threadId], server.env);
    expect(stdout).toContain("town/fixer fix_pushed 4f0c2ab → role reviewer");
    expect(stdout).toMatch(/ACKED {2}town\/fixer {2}submitted/);
  });

  it("OpenCode answers by its tools when it is woken, without a dialog", { timeout: TEST_MS }, async (context) => {
    await requireComponent(context, "opencode");
    await using server = await ThreadsServer.start();
    await using helper = await ThreadAgent.start(server, {
      ...{ program: "opencode-1.18.33", role: "helper", part: ANSWERS },
    });
    const post = ["is the shed green?", "--to", "town/helper"];
    const { messages } = await conversation(server, post, ["--with", "town/helper:helper"], "answer");
    expect(messages.map((one) => one.text)).toEqual(["is the shed green?", "yes: is the shed green?"]);
    expect(await helper.dialogs()).toEqual([]);
  });
});
