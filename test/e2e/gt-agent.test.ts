import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Emulator } from "../../internal/pane/screen/emulator.ts";
import { type AgentPlace, demoAgent, inLocalTmux, inSidecar, takenMessages } from "../support/agents/agent-places.ts";
import { gt, gtInTerminal } from "../support/bridge/gt-transcript.ts";
import { eventually } from "../support/eventually.ts";
import type { Ran } from "../support/run-to-end.ts";

describe.each([
  ["in a sidecar", inSidecar],
  ["in local tmux", inLocalTmux],
] as const)("gt with an agent %s", (name, start) => {
  let place: AgentPlace;
  beforeAll(async () => {
    place = await start({ argv: (dir) => demoAgent(dir, "--seed", "7"), profile: "demo", cols: 70, rows: 20 });
    await idle();
  });
  afterAll(() => place?.[Symbol.asyncDispose]());

  function run(command: string, ...args: string[]): Promise<Ran> {
    return gt([command, "toast", ...place.flags, ...args], place.env);
  }

  async function idle(): Promise<void> {
    await eventually(
      "it is idle",
      async () => (await place.backend.status(AbortSignal.timeout(60_000))).state === "idle",
      60_000,
    );
  }

  const FRESH = `Demo agent
It answers, asks and queues like a coding agent, and does nothing. /help
──────────────────────────────────────────────────────────────────────
> Type a message
──────────────────────────────────────────────────────────────────────
ready · demo model · ctx 12%
`;

  it("peeks at the last lines and prints nothing else", async () => {
    const shown = await run("peek");
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout.split("\n").slice(-5)).toEqual(FRESH.split("\n").slice(-5));
    expect((await run("peek", "2")).stdout).toBe(FRESH.split("\n").slice(-3).join("\n"));
    expect((await run("peek", "-n", "1")).stdout).toBe("ready · demo model · ctx 12%\n");
  });

  it("peeks as JSON", async () => {
    const shown = await run("peek", "1", "--json");
    const json = JSON.parse(shown.stdout) as Record<string, unknown>;
    expect(json).toMatchObject({
      output: "ready · demo model · ctx 12%",
      alive: true,
      truncated: false,
      cols: 70,
      rows: 20,
    });
    expect(shown.code).toBe(0);
  });

  it("colours only when asked to", async () => {
    expect((await run("peek")).stdout).not.toContain("\x1b");
    expect((await run("peek", "--ansi")).stdout).toMatch(/\x1b\[[0-9;]*m/);
  });

  it("prints the state", async () => {
    const shown = await run("status");
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toMatch(/^\S*toast {2}idle for [\d.]+ (ms|s|min)/);
    expect(shown.stdout).toMatch(/\n {2}evidence {4}/);
    const json = JSON.parse((await run("status", "--json")).stdout) as Record<string, unknown>;
    expect(json).toMatchObject({ reachable: true, alive: true, state: "idle", draft: false, queue_depth: 0 });
  });

  it("nudges, and prints how long it took and the evidence", async () => {
    const shown = await run("nudge", "--stdin", "--request-id", "once");
    expect(shown).toMatchObject({ code: 2, stderr: "gt: error: the message is empty\n" });
    const sent = await gt(["nudge", "toast", ...place.flags, "--stdin"], place.env, {
      stdin: "first line\nsecond line\n\n",
    });
    expect(sent).toMatchObject({ code: 0, stderr: "" });
    expect(sent.stdout).toMatch(/^✓ submitted to \S*toast in [\d.]+ m?s\n {2}(proof|strong): /);
    await idle();
    expect((await takenMessages(place)).at(-1)).toBe("first line\nsecond line");
  });

  it("prints the receipt as JSON, and the same one for the same request id", async () => {
    const receipt = async () =>
      JSON.parse((await run("nudge", "hello", "--json", "--request-id", "r-1")).stdout) as object;
    const first = await receipt();
    expect(first).toMatchObject({ outcome: "submitted", delivered: true, request_id: "r-1", queue_position: 0 });
    expect(await receipt()).toMatchObject({ outcome: "submitted", request_id: "r-1" });
    const other = await run("nudge", "other", "--request-id", "r-1");
    expect(other).toEqual({ code: 2, stdout: "", stderr: 'gt: error: request id "r-1" belongs to another message\n' });
    await idle();
    expect((await takenMessages(place)).filter((text) => text === "hello")).toHaveLength(1);
  });

  it("exits with 6 while a person's draft is there, and types nothing", async () => {
    await place.keys("-l", "half a thought");
    await eventually("the draft", async () => (await place.backend.status(AbortSignal.timeout(60_000))).draft);
    const shown = await run("nudge", "hello");
    expect(shown).toMatchObject({ code: 6, stdout: "" });
    expect(shown.stderr).toMatch(
      /^gt: error: not delivered to \S*toast: the composer holds text that is not ours\ngt: hint: send or clear that text first; /,
    );
    expect(shown.stderr.includes("--mode queue")).toBe(name === "in a sidecar");
    expect(shown.stderr).toContain(`gt peek toast ${place.flags.join(" ")} shows the screen`);
    expect(shown.stderr).toMatch(/\ngt: note: demo in \S*toast is idle for /);
    await place.keys("C-u");
    await idle();
  });

  it("exits with 6 while a dialog is open, and shows it", async () => {
    await run("nudge", "run: touch forbidden");
    await eventually("the dialog", async () => (await place.backend.status(AbortSignal.timeout(60_000))).dialog);
    const shown = await run("nudge", "yes");
    expect(shown).toMatchObject({ code: 6, stdout: "" });
    expect(shown.stderr).toMatch(
      /^gt: error: not delivered to \S*toast: a dialog is open\ngt: hint: gt respond toast .+ shows the dialog and answers it/,
    );
    const status = await run("status");
    expect(status.stdout).toMatch(/ {2}dialog {6}permission/);
    expect(status.stdout).toContain("touch forbidden");
    await place.keys("Escape");
    await idle();
  });

  it("queues a message, or says that no process remains to type it later", async () => {
    const shown = await run("nudge", "later", "--mode", "queue");
    if (name === "in a sidecar") {
      expect(shown).toMatchObject({ code: 5, stderr: "" });
      expect(shown.stdout).toMatch(
        /^… queued for toast, 1st in line: .*\n {2}it will be typed at the next idle moment; /,
      );
      await eventually("it is typed", async () => (await takenMessages(place)).includes("later"));
    } else {
      expect(shown).toMatchObject({ code: 2, stdout: "" });
      expect(shown.stderr).toMatch(
        /^gt: error: a local tmux session has no queue: no process remains to type the message later\n/,
      );
    }
    await idle();
  });

  it("finds it by name, and lists it", async () => {
    const flags = name === "in a sidecar" ? [] : place.flags;
    const socket = flags.slice(0, flags.indexOf("--socket") + 2);
    const agents = await gt(["agents", "-q", ...socket], place.env);
    expect(agents).toMatchObject({ code: 0, stderr: "" });
    expect(agents.stdout).toMatch(/^(toast|gt-toast)\n$/);
    expect(await gt(["peek", "toast", "1", ...flags], place.env)).toMatchObject({ code: 0 });
    const table = await gt(["status", ...flags], place.env);
    expect(table.stdout).toMatch(/^AGENT +STATE +FOR +(?:\S.* +)?WHERE\n\S*toast +idle /);
    const missing = await gt(["peek", "nobody", ...flags], place.env);
    expect(missing.code).toBe(3);
    expect(missing.stderr).toMatch(/^gt: error: no agent "nobody"; running here: (gt-)?toast\n/);
  });

  it("follows new lines only, even in a terminal, and ends on Ctrl-C", async () => {
    await using terminal = gtInTerminal(["peek", "toast", "-n", "2", "-f", ...place.flags], place.env);
    await eventually("it begins", () => terminal.seen().includes("ready · demo model"));
    const before = terminal.seen();
    expect(before.match(/─────/g)?.length).toBeLessThan(20);
    await run("nudge", "follow me");
    await eventually("the new lines", () => terminal.seen().slice(before.length).includes("> follow me"), 60_000);
    expect(terminal.seen()).not.toContain("Demo agent");
    terminal.type("\x03");
    expect(await terminal.exited).toBe(130);
    await idle();
  });

  it("watches in place in a terminal, and shows the cursor again at the end", async () => {
    await using terminal = gtInTerminal(["watch", "toast", ...place.flags], place.env, 60, 15);
    await eventually(
      "the picture",
      () =>
        terminal.seen().includes("ready · demo model") &&
        /toast · idle/.test(terminal.seen().replaceAll(/\x1b\[[0-9;]*m/g, "")),
    );
    const drawn = terminal.seen();
    expect(drawn.startsWith("\x1b[?25l") || drawn.includes("\x1b[?25l")).toBe(true);
    expect(drawn).not.toContain("\x1b[?1049h");
    const screen = new Emulator({ cols: 60, rows: 15, scrollback: 100 });
    await screen.write(drawn);
    const rows = screen.rowsText(115);
    expect(rows[0]?.text).toMatch(/toast · idle /);
    expect(rows.filter((row) => row.wrapped)).toEqual([]);
    expect(rows.filter((row) => row.text.startsWith("> Type a message"))).toHaveLength(1);
    terminal.resize(50, 12);
    await eventually("it is drawn again", () => terminal.seen().slice(drawn.length).includes("\x1b[2J\x1b[H"));
    terminal.type("\x03");
    expect(await terminal.exited).toBe(130);
    expect(terminal.seen().lastIndexOf("\x1b[?25h")).toBeGreaterThan(terminal.seen().lastIndexOf("\x1b[?25l"));
  });

  it("prints no control sequence to the person's terminal", async () => {
    await run("nudge", "lines: 1 \x1b]0;owned\x07 end");
    await idle();
    for (const args of [["peek"], ["peek", "--ansi"], ["peek", "--json"], ["status"]]) {
      const shown = await run(args[0] ?? "", ...args.slice(1));
      expect(shown.stdout.replaceAll(/\x1b\[[0-9;:]*m/g, "")).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
    }
  });

  it("reports the agent's death", async () => {
    const watching = gt(["watch", "toast", ...place.flags, "--json"], place.env);
    await place.keys("-l", "/exit");
    await place.keys("Enter");
    await eventually(
      "it is dead",
      async () => (await place.backend.status(AbortSignal.timeout(60_000))).state === "dead",
    );
    const shown = await run("nudge", "hello");
    expect(shown).toMatchObject({ code: 6, stdout: "" });
    expect(shown.stderr).toMatch(
      /^gt: error: not delivered to \S*toast: the agent has ended\ngt: hint: gt status toast .+ shows how it ended\n$/,
    );
    expect((await run("status")).stdout).toMatch(/toast {2}dead for .*\n {2}process {5}ended with exit code 0\n/);
    const peek = await run("peek", "3");
    expect(peek).toMatchObject({
      code: 0,
      stderr: "gt: note: the agent is no longer running: this is its last known screen\n",
    });
    const { stdout, code } = await watching;
    const updates = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { kind: string });
    expect(code).toBe(0);
    expect([updates[0]?.kind, updates.at(-1)?.kind]).toEqual(["snapshot", "end"]);
  });
});
