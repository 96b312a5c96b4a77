import { describe, expect, it } from "vitest";
import { pretendAgent } from "../../../test/support/agents/pretended-agent.ts";
import { settle } from "../../../test/support/fake-clock.ts";
import { codexDialect } from "./codex-dialect.ts";

const never = new AbortController().signal;

async function opened(options: Readonly<Record<string, string>> = {}) {
  const agent = pretendAgent(codexDialect, options);
  const open = agent.conversation.open(never);
  agent.say({ id: 1, result: {} });
  await settle();
  agent.say({ id: 2, result: { thread: { id: "thread-1" } } });
  await open;
  const give = (requestId: string) => agent.conversation.give({ requestId, text: requestId }, never);
  return { ...agent, give };
}

describe("a conversation with Codex", () => {
  it("starts a thread in the session's folder, with its options", async () => {
    const { written, text } = await opened({ model: "m", sandbox: "read-only", system_prompt: "be brief" });
    expect(written[2]).toMatchObject({
      method: "thread/start",
      params: { cwd: "/a/folder", model: "m", sandbox: "read-only", developerInstructions: "be brief" },
    });
    expect(text()).toBe("● Conversation thread-1\n");
  });

  it("continues a thread in the session's folder, not in the thread's own", async () => {
    const { written } = await opened({ resume: "thread-1" });
    expect(written[2]).toMatchObject({ method: "thread/resume", params: { threadId: "thread-1", cwd: "/a/folder" } });
  });

  it("accepts no message between a message and the end of its turn", async () => {
    const { conversation, say, give, told } = await opened();
    const given = give("a");
    expect(conversation.takesMessages()).toBe(false);
    say({ id: 3, result: { turn: { id: "turn-1" } } });
    expect(await given).toBe("submitted");
    say({ method: "turn/started", params: { threadId: "thread-1", turn: { id: "turn-1" } } });
    say({ method: "turn/completed", params: { threadId: "of a helper", turn: {} } });
    expect(conversation.takesMessages()).toBe(false);
    say({ method: "turn/completed", params: { threadId: "thread-1", turn: { id: "turn-1", status: "completed" } } });
    expect(conversation.takesMessages()).toBe(true);
    expect(told()).toEqual(["session", "busy", "idle"]);
  });

  it.each(["failed", "interrupted"])("reports that a turn has %s", async (status) => {
    const { say, give, events } = await opened();
    const given = give("a");
    say({ id: 3, result: { turn: { id: "turn-1" } } });
    await given;
    say({ method: "turn/completed", params: { threadId: "thread-1", turn: { id: "turn-1", status } } });
    expect(events.at(-1)).toEqual({ type: "phase", state: "idle", hasFailed: true });
  });

  it("is idle after its message is refused", async () => {
    const { say, give, told, events } = await opened();
    const given = give("a");
    say({ id: 3, error: { code: -1, message: "no such model" } });
    await expect(given).rejects.toThrow("the agent refused: no such model");
    expect(told()).toEqual(["session", "busy", "idle"]);
    expect(events.at(-1)).toMatchObject({ hasFailed: true });
  });

  it("shows what an edit changes when it asks for approval", async () => {
    const { say, written, events } = await opened({ permission_mode: "allow" });
    const item = { type: "fileChange", changes: [{ path: "a.ts" }] };
    say({ method: "item/started", params: { threadId: "thread-1", item } });
    say({ id: 0, method: "item/fileChange/requestApproval", params: { threadId: "thread-1" } });
    await settle();
    expect(written.at(-1)).toEqual({ id: 0, result: { decision: "accept" } });
    expect(events.find((event) => event.type === "dialog-opened")).toMatchObject({ dialog: { text: "a.ts" } });
  });

  it("answers an unknown request", async () => {
    const { say, written } = await opened();
    say({ id: 7, method: "attestation/generate", params: {} });
    await settle();
    expect(written.at(-1)).toEqual({ id: 7, error: { code: -32601, message: "no method attestation/generate" } });
  });
});
