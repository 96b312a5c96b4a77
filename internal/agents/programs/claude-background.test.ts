import { describe, expect, it } from "vitest";
import { screenOf } from "../../../test/support/screens/screens.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";

/** Recorded from Claude Code 2.1.330, shortened. */
const STOP = {
  hook_event_name: "Stop",
  background_tasks: [
    { id: "bu15ltvyh", type: "shell", status: "running", description: "Runs a server", command: "npm run dev" },
    { id: "a8ce5538089061639", type: "subagent", status: "running", description: "Looks around", agent_type: "x" },
  ],
  session_crons: [],
};
const read = (payload: object) => claude.readHook("turn-ended payload.w62M2qKbIP", JSON.stringify(payload));

describe("the end of a turn as reported by Claude Code's hook", () => {
  it("lists what runs in the background", () => {
    expect(read(STOP)).toEqual({
      type: "turn-ended",
      background: [
        { id: "bu15ltvyh", kind: "shell", title: "Runs a server" },
        { id: "a8ce5538089061639", kind: "subagent", title: "Looks around" },
      ],
    });
  });

  it("lists nothing if an older release does not report it", () => {
    expect(read({ hook_event_name: "Stop" })).toEqual({ type: "turn-ended" });
    expect(claude.readHook("turn-ended", undefined)).toEqual({ type: "turn-ended" });
  });

  it("is not reported for a sub-agent's turn", () => {
    expect(read({ ...STOP, agent_id: "a8ce5538089061639" })).toBeUndefined();
  });

  it.each([
    [[{ id: 7 }]],
    [[null, "x", []]],
    [[{ id: "a", type: "shell", status: "completed" }]],
    [[{ id: "x".repeat(129), status: "running" }]],
  ])("lists nothing for %j", (background_tasks) =>
    expect(read({ background_tasks })).toEqual({ type: "turn-ended", background: [] }),
  );

  it('lists an unknown kind as "other", and at most 100 tasks', () => {
    const many = Array.from({ length: 500 }, (_, i) => ({ id: `m${i}`, type: "monitor", status: "running" }));
    const event = read({ background_tasks: many });
    expect(event?.type === "turn-ended" && event.background?.length).toBe(100);
    expect(event?.type === "turn-ended" && event.background?.[0]).toEqual({ id: "m0", kind: "other", title: "" });
  });
});

it("reads the ended task from the prompt in which Claude Code reports it", () => {
  const prompt =
    "<task-notification>\n<task-id>bu15ltvyh</task-id>\n<status>failed</status>\n<summary>x</summary>\n</task-notification>";
  const event = claude.readHook("prompt-submitted payload.a", JSON.stringify({ prompt }));
  expect(event).toMatchObject({ type: "prompt-submitted", endedTasks: ["bu15ltvyh"] });
  const person = claude.readHook("prompt-submitted payload.a", JSON.stringify({ prompt: `look: ${prompt}` }));
  expect(person).not.toHaveProperty("endedTasks");
});

const rule = "─".repeat(100);
const claudeScreen = (last: string, status: string, title: string) =>
  claude.view({
    ...screenOf(["● Done with the tool.", "", last, "", rule, "❯ ", rule, status], { cols: 100, cursor: [2, 5] }),
    title,
  });

describe("the background of Claude Code", () => {
  it("is read from the count of shells in the status row", () => {
    const view = claudeScreen(
      "✻ Brewed for 5s · done 9:33 PM · 1 shell still running",
      "  ⏸ manual mode on · 1 shell · ← for agents · ↓ to manage",
      "✳ Claude Code",
    );
    expect(view).toMatchObject({ background: [{ kind: "shell", count: 1 }] });
    expect(view.busy).toBeUndefined();
  });

  it("is read from the count of sub-agents that it waits for, and its turning title is then no sign of work", () => {
    const view = claudeScreen("✻ Waiting for 2 background agents to finish", "  ⏸ manual mode on", "◐ Claude Code");
    expect(view).toMatchObject({ background: [{ kind: "subagent", count: 2 }] });
    expect(view.busy).toBeUndefined();
  });

  it("is not read from text of the transcript", () => {
    const view = claudeScreen("  ✻ Waiting for 2 background agents to finish", "  ⏸ manual mode on", "◐ Claude Code");
    expect(view).toMatchObject({ busy: "title" });
    expect(view.background).toBeUndefined();
  });
});

it("is read by Codex from the row above its composer", () => {
  const bold = { bold: true };
  const rows = [
    "• Done with the tool.",
    "",
    "  Worked for 1s • 21:34",
    "",
    "  2 background terminals running · /ps to view · /stop to close",
    "",
  ];
  const screen = screenOf([...rows, "› ", "", "  pretended default · /proj"], { cols: 100, cursor: [2, 6] });
  const prompt = screen.lines[6];
  if (prompt === undefined) throw new Error("no prompt row");
  const lines = screen.lines.with(6, {
    ...prompt,
    runs: [{ text: "›", dim: false, inverse: false, fg: "default", ...bold }],
  });
  expect(codex.view({ ...screen, lines }).background).toEqual([{ kind: "shell", count: 2 }]);
});
