import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type AgentPlace, demoAgent, inLocalTmux, inSidecar, takenMessages } from "../support/agents/agent-places.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import { eventually } from "../support/eventually.ts";

const PLACES = [
  ["a sidecar", inSidecar],
  ["local tmux", inLocalTmux],
] as const;

describe.each(PLACES)("gt respond, the agent in %s", (_, start) => {
  it("shows the dialog, answers it by the beginning of a label, and explains each refusal", async () => {
    await using place = await start({ argv: (dir) => demoAgent(dir, "--tool-log", tools(dir)), profile: "demo" });
    await idle(place);
    const none = await run(place, "respond", "toast");
    expect([none.code, none.stderr]).toEqual([
      6,
      expect.stringMatching(/no dialog is open \(idle\)\ngt: hint: gt status/),
    ]);

    expect((await run(place, "nudge", "toast", "run: rm x")).code).toBe(0);
    const id = await dialogId(place);
    const flags = place.flags.join(" ");
    const shown = await run(place, "respond", "toast");
    expect([shown.code, shown.stdout]).toEqual([
      0,
      `permission: Allow this command?
rm x
> 1. Yes                         gt respond toast 1 ${flags}
  2. Yes, and do not ask again   gt respond toast 2 ${flags}
  3. No                          gt respond toast 3 ${flags}
`,
    ]);
    expect((await run(place, "status", "toast")).stdout).toContain(
      `> 1. Yes                         gt respond toast 1`,
    );

    const unclear = await run(place, "respond", "toast", "ye");
    expect([unclear.code, unclear.stderr]).toEqual([2, expect.stringContaining('"ye" may be 1 (Yes), 2 (Yes, and')]);
    const unknown = await run(place, "respond", "toast", "perhaps");
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("there are 1 (Yes), 2 (Yes, and")]);
    const stale = await run(place, "respond", "toast", "yes", "--dialog-id", "0123456789abcdef", "--json");
    expect([stale.code, JSON.parse(stale.stdout)]).toMatchObject([6, { outcome: "refused", current_dialog_id: id }]);
    expect(await readFile(tools(place.dir), "utf8").catch(() => "")).toBe("");

    const answered = await run(place, "respond", "toast", "yes, and", "--dialog-id", id, "--json");
    expect([answered.code, JSON.parse(answered.stdout)]).toMatchObject([0, { outcome: "answered", dialog_id: id }]);
    expect(await readFile(tools(place.dir), "utf8")).toBe("rm x\n");
    const gone = await run(place, "respond", "toast", "yes");
    expect([gone.code, gone.stderr]).toEqual([6, expect.stringContaining("no dialog is open")]);
  });

  it("answers with a text, after which a refused message is accepted", async () => {
    await using place = await start({ argv: (dir) => demoAgent(dir, "--turn-ms", "20"), profile: "demo" });
    await idle(place);
    await run(place, "nudge", "toast", "ask: Which colour?|Green|...");
    await dialogId(place);
    expect((await run(place, "nudge", "toast", "between")).code).toBe(6);
    const needed = await run(place, "respond", "toast", "2");
    expect([needed.code, needed.stderr]).toEqual([2, expect.stringContaining("choice 2 needs a text")]);
    const answered = await run(place, "respond", "toast", "--text", "mauve; with dots");
    expect(answered.stdout).toMatch(/^✓ answered \S+ with a text\n {2}strong: the dialog has closed \(screen\)\n/);
    await idle(place);
    expect((await run(place, "peek", "toast")).stdout).toContain("⎿ mauve; with dots");
    expect((await run(place, "nudge", "toast", "between")).code).toBe(0);
    expect(await takenMessages(place)).toEqual(["ask: Which colour?|Green|...", "between"]);
  });
});

it("reports that another dialog replaced the answered one", async () => {
  await using place = await inSidecar({ argv: (dir) => demoAgent(dir, "--turn-ms", "1"), profile: "demo" });
  await idle(place);
  await run(place, "nudge", "toast", "run: first\nask: Which?|A|B");
  await dialogId(place);
  const changed = await run(place, "respond", "toast", "yes", "--json");
  expect([changed.code, JSON.parse(changed.stdout)]).toMatchObject([6, { outcome: "changed" }]);
});

it("exits with 4 for an unreachable sidecar and with 2 without an agent", async () => {
  const env = { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent" };
  expect((await gt(["respond", "toast", "yes", "--port", "1"], env, { cwd: "/" })).code).toBe(4);
  expect((await gt(["respond"], env, { cwd: "/" })).code).toBe(2);
});

const tools = (dir: string) => join(dir, "tools.log");

function run(place: AgentPlace, command: string, agent: string, ...args: string[]) {
  return gt([command, agent, ...args, ...place.flags], place.env);
}

function idle(place: AgentPlace) {
  return eventually("idle", async () => (await place.backend.status(AbortSignal.timeout(60_000))).state === "idle");
}

function dialogId(place: AgentPlace): Promise<string> {
  return eventually("a dialog", async () => (await place.backend.status(AbortSignal.timeout(60_000))).dialog?.id);
}
