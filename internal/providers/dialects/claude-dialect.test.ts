import { describe, expect, it } from "vitest";
import { pretendAgent } from "../../../test/support/agents/pretended-agent.ts";
import { objectAt } from "../../base/json-fields.ts";
import { claudeDialect } from "./claude-dialect.ts";

const never = new AbortController().signal;

async function opened(options: Readonly<Record<string, string>> = {}) {
  const agent = pretendAgent(claudeDialect, options);
  const { conversation, written } = agent;
  const say = (message: object) => expect(agent.say(message)).toBe(true);
  const open = conversation.open(never);
  say({ type: "control_response", response: { subtype: "success", request_id: written[0]?.["request_id"] } });
  await open;
  const lifecycle = (state: string, uuid: string) => say({ type: "command_lifecycle", command_uuid: uuid, state });
  /** Gives a message; `uuid` identifies it to the agent. */
  const give = (requestId: string) => {
    const outcome = conversation.give({ requestId, text: requestId }, never);
    return { outcome, uuid: String(written.at(-1)?.["uuid"]) };
  };
  return { ...agent, say, lifecycle, give };
}

describe("a conversation with Claude Code", () => {
  it("is busy from a message to the end of the last turn, including queued messages", async () => {
    const { conversation, say, lifecycle, give, told, events } = await opened();
    const first = give("a");
    lifecycle("queued", first.uuid);
    expect(await first.outcome).toBe("submitted");
    const second = give("b");
    lifecycle("queued", second.uuid);
    expect(await second.outcome).toBe("queued");
    expect(conversation.kept()).toEqual(["b"]);
    say({ type: "result", subtype: "success" });
    expect(told()).toEqual(["busy"]);
    lifecycle("started", second.uuid);
    expect(events.at(-1)).toEqual({
      ...{ type: "input-settled", requestId: "b", result: { outcome: "submitted", error: "" } },
    });
    say({ type: "result", subtype: "success" });
    expect(told()).toEqual(["busy", "input-settled", "idle"]);
    expect(conversation.kept()).toEqual([]);
  });

  it("accepts no message until the end of the turn if the program does not report the state of messages", async () => {
    const { conversation, say, give } = await opened();
    const first = give("a");
    say({ type: "user", message: { content: [] }, isReplay: true, uuid: first.uuid });
    expect(await first.outcome).toBe("submitted");
    expect(conversation.takesMessages()).toBe(false);
    say({ type: "result", subtype: "success" });
    expect(conversation.takesMessages()).toBe(true);
  });

  it("reports that a queued message was dropped, and is then idle", async () => {
    const { say, lifecycle, give, told, events } = await opened();
    const first = give("a");
    lifecycle("queued", first.uuid);
    const second = give("b");
    lifecycle("queued", second.uuid);
    await second.outcome;
    say({ type: "result", subtype: "success" });
    lifecycle("discarded", second.uuid);
    expect(events).toContainEqual({
      type: "input-settled",
      requestId: "b",
      result: { outcome: "unknown", error: "claude has discarded the message" },
    });
    expect(told()).toEqual(["busy", "input-settled", "idle"]);
  });

  it("reports a failed turn, and does not end the next one when the failed message is reported as cancelled", async () => {
    const { say, lifecycle, give, events } = await opened();
    const first = give("a");
    lifecycle("started", first.uuid);
    await first.outcome;
    say({ type: "assistant", message: { content: "API Error: 529" } });
    say({ type: "result", subtype: "success", is_error: true });
    const second = give("b");
    lifecycle("cancelled", first.uuid);
    lifecycle("started", second.uuid);
    await second.outcome;
    say({ type: "result", subtype: "success", is_error: false });
    expect(events.filter(({ type }) => type === "phase")).toEqual([
      { type: "phase", state: "busy" },
      { type: "phase", state: "idle", hasFailed: true },
      { type: "phase", state: "busy" },
      { type: "phase", state: "idle" },
    ]);
  });

  it("refuses a message that the program refuses", async () => {
    const { lifecycle, give } = await opened();
    const { outcome, uuid } = give("a");
    lifecycle("refused", uuid);
    await expect(outcome).rejects.toThrow("claude has refused the message");
  });

  it("answers an unknown request, so that the agent does not wait forever", async () => {
    const { say, written } = await opened();
    say({ type: "control_request", request_id: "r", request: { subtype: "of a later version" } });
    expect(objectAt(written.at(-1), "response")).toMatchObject({ subtype: "error", request_id: "r" });
  });

  it.each([
    ["allow", "Bash", "allow"],
    ["deny", "Bash", "deny"],
    ["acceptEdits", "Bash", "deny"],
    ["allow", "ExitPlanMode", "allow"],
    ["allow", "AskUserQuestion", "deny"],
  ])("with permission_mode %s answers a request for %s with %s", async (mode, tool, behavior) => {
    const { say, written } = await opened({ permission_mode: mode });
    const request = { subtype: "can_use_tool", tool_name: tool, input: { command: "ls" } };
    say({ type: "control_request", request_id: "r", request });
    expect(objectAt(written.at(-1), "response", "response")["behavior"]).toBe(behavior);
  });
});
