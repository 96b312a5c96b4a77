import { describe, expect, it } from "vitest";
import { pretendAgent } from "../../../test/support/agents/pretended-agent.ts";
import { settle } from "../../../test/support/fake-clock.ts";
import { opencodeDialect } from "./opencode-dialect.ts";

const never = new AbortController().signal;
const LISTS = { list: {}, resume: {} };

async function opened(options: Readonly<Record<string, string>> = {}, sessionCapabilities: object = LISTS) {
  const agent = pretendAgent(opencodeDialect, options);
  const open = agent.conversation.open(never);
  agent.say({ id: 1, result: { agentCapabilities: { sessionCapabilities } } });
  await settle();
  agent.say({ id: 2, result: { sessionId: "ses-1" } });
  await settle();
  if (options["model"] !== undefined) agent.say({ id: 3, result: {} });
  await open;
  const give = (requestId: string) => agent.conversation.give({ requestId, text: requestId }, never);
  const update = (value: object) =>
    agent.say({ method: "session/update", params: { sessionId: "ses-1", update: value } });
  return { ...agent, give, update };
}

const words = (text: string) => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });

describe("a conversation with OpenCode", () => {
  it("opens a session in the session's folder and chooses the model", async () => {
    const { written, text } = await opened({ model: "loopback/m" });
    expect(written[1]).toMatchObject({ method: "session/new", params: { cwd: "/a/folder", mcpServers: [] } });
    expect(written[2]).toMatchObject({
      method: "session/set_config_option",
      params: { sessionId: "ses-1", configId: "model", value: "loopback/m" },
    });
    expect(text()).toBe("● Conversation ses-1\n");
  });

  it.each([
    [LISTS, "session/resume"],
    [{}, "session/load"],
  ])("resumes a session, capabilities %j", async (capabilities, method) => {
    const { written } = await opened({ resume: "ses-0" }, capabilities);
    expect(written[1]).toMatchObject({ method, params: { sessionId: "ses-0", cwd: "/a/folder" } });
  });

  it("accepts the answer to a later request as proof that the prompt was taken, and is busy until the prompt's own answer", async () => {
    const { conversation, say, give, update, told, text, written } = await opened();
    const given = give("a");
    await settle();
    expect(written.slice(2).map((message) => message["method"])).toEqual(["session/prompt", "session/list"]);
    expect(written[3]).toMatchObject({ params: { cwd: "/a/folder", cursor: "0" } });
    say({ id: 4, result: { sessions: [] } });
    expect(await given).toBe("submitted");
    expect(conversation.takesMessages()).toBe(false);
    update(words("done"));
    say({ id: 3, result: { stopReason: "end_turn" } });
    await settle();
    expect(told()).toEqual(["session", "busy", "idle"]);
    expect(text()).toBe("● Conversation ses-1\ndone\n");
  });

  it("accepts a refusal of the later request as the same proof", async () => {
    const { say, give } = await opened({}, {});
    const given = give("a");
    say({ id: 4, error: { code: -32601, message: "method not found" } });
    expect(await given).toBe("submitted");
  });

  it("is idle after the prompt fails, and reports the reason", async () => {
    const { say, give, told, text, events } = await opened();
    const given = give("a");
    say({ id: 3, error: { code: -32603, message: "no credentials" } });
    await expect(given).rejects.toThrow("no credentials");
    expect(told()).toEqual(["session", "busy", "idle"]);
    expect(events.at(-1)).toMatchObject({ hasFailed: true });
    expect(text()).toContain("● The turn failed: the agent refused: no credentials\n");
  });

  it.each([
    ["max_tokens", {}],
    ["refusal", { hasFailed: true }],
    ["cancelled", { hasFailed: true }],
  ])("reports that a turn ended by %s", async (stopReason, failure) => {
    const { say, give, text, events } = await opened();
    const given = give("a");
    say({ id: 3, result: { stopReason } });
    await given;
    expect(text()).toContain(`● The turn ended: ${stopReason}\n`);
    expect(events.at(-1)).toEqual({ type: "phase", state: "idle", ...failure });
  });

  it.each([
    ["deny", [{ optionId: "r", kind: "reject_once" }], { outcome: "selected", optionId: "r" }],
    ["allow", [{ optionId: "a", kind: "allow_once" }], { outcome: "selected", optionId: "a" }],
    ["deny", [{ optionId: "a", kind: "allow_once" }], { outcome: "cancelled" }],
    ["allow", [{ optionId: "always", kind: "allow_always" }], { outcome: "cancelled" }],
  ])("answers a request with %s of %j", async (mode, options, outcome) => {
    const { say, written } = await opened({ permission_mode: mode });
    say({ id: 0, method: "session/request_permission", params: { sessionId: "ses-1", toolCall: {}, options } });
    await settle();
    expect(written.at(-1)).toMatchObject({ id: 0, result: { outcome } });
  });

  it("offers no access to this machine", async () => {
    const { say, written } = await opened();
    say({ id: 9, method: "fs/read_text_file", params: { path: "/etc/passwd" } });
    await settle();
    expect(written.at(-1)).toMatchObject({ id: 9, error: { code: -32601 } });
  });
});
