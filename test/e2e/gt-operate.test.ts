import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AgentPlace, demoAgent, inLocalTmux, inSidecar } from "../support/agents/agent-places.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import { eventually } from "../support/eventually.ts";
import type { Ran } from "../support/run-to-end.ts";

describe.each([
  ["in a sidecar", inSidecar],
  ["in local tmux", inLocalTmux],
] as const)("gt operates an agent %s", (name, start) => {
  let place: AgentPlace;
  beforeAll(async () => {
    place = await start({ argv: (dir) => demoAgent(dir, "--seed", "7"), profile: "demo", cols: 70, rows: 20 });
    await idle();
  });
  afterAll(() => place?.[Symbol.asyncDispose]());

  function run(command: string, ...args: string[]): Promise<Ran> {
    return gt([command, "toast", ...place.flags, ...args], place.env);
  }

  function state(): Promise<string> {
    return place.backend.status(AbortSignal.timeout(60_000)).then((status) => status.state);
  }

  async function idle(): Promise<void> {
    await eventually("it is idle", async () => (await state()) === "idle", 60_000);
  }

  it("shows the receipt of a nudge again", async () => {
    expect(await run("nudge", "hello", "--request-id", "r-1")).toMatchObject({ code: 0 });
    const shown = await run("receipt", "r-1");
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toMatch(/^✓ submitted to \S*toast/);
    const json = JSON.parse((await run("receipt", "r-1", "--json")).stdout) as object;
    expect(json).toMatchObject({ outcome: "submitted", request_id: "r-1", delivered: true });
    await idle();
  });

  if (name === "in a sidecar") {
    it("needs no agent's name with a sidecar's address", async () => {
      const here = (...args: string[]) => gt([...args, ...place.flags], place.env);
      expect(await here("peek", "1")).toMatchObject({ code: 0, stderr: "" });
      expect(await here("wait", "--for", "idle")).toMatchObject({ code: 0 });
      expect(await here("nudge", "hello without a name", "--request-id", "r-2")).toMatchObject({ code: 0 });
      const receipt = await here("receipt", "r-2", "--json");
      expect(JSON.parse(receipt.stdout)).toMatchObject({ outcome: "submitted", request_id: "r-2" });
      await idle();
    });
  }

  it.each(["receipt", "cancel"])("%s exits with 3 for a request id that was never sent", async (command) => {
    const shown = await run(command, "never");
    expect(shown).toMatchObject({ code: 3, stdout: "" });
    expect(shown.stderr).toMatch(/^gt: error: .*"?never"?/);
  });

  it("refuses to cancel a submitted nudge", async () => {
    const shown = await run("cancel", "r-1");
    expect(shown).toMatchObject({ code: 6, stdout: "" });
    expect(shown.stderr).toMatch(/^gt: error: r-1 was not cancelled: submitted to \S*toast/);
  });

  it("presses keys and types text", async () => {
    expect(await run("keys", "--text", "half a thought")).toEqual({ code: 0, stdout: "", stderr: "" });
    await eventually("the text", async () => (await run("peek")).stdout.includes("> half a thought"));
    const pressed = await run("keys", "C-u", "--json");
    expect(pressed).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(pressed.stdout)).toMatchObject({ sent: true });
    await eventually("the text is gone", async () => !(await run("peek")).stdout.includes("half a thought"));
  });

  it("refuses unknown keys", async () => {
    expect(await run("keys", "Retrun")).toEqual({
      code: 2,
      stdout: "",
      stderr: 'gt: error: not a tmux key: "Retrun"\n',
    });
  });

  if (name === "in a sidecar") {
    it("cancels a queued nudge", async () => {
      await run("keys", "--text", "a draft"); // keeps the nudge waiting
      await eventually("the draft", async () => (await place.backend.status(AbortSignal.timeout(60_000))).draft);
      expect(await run("nudge", "later", "--mode", "queue", "--request-id", "q-1")).toMatchObject({ code: 5 });
      expect(await run("cancel", "q-1")).toEqual({
        code: 0,
        stdout: "✓ cancelled q-1: nothing was typed\n",
        stderr: "",
      });
      expect(await run("receipt", "q-1")).toMatchObject({ code: 6 });
      await run("keys", "C-u");
      await idle();
    });

    it("names the agent whose sidecar has no such receipt", async () => {
      const shown = await gt(["receipt", "nux", ...place.flags, "never"], place.env);
      expect(shown).toMatchObject({ code: 3, stdout: "" });
      expect(shown.stderr).toMatch(
        /^gt: note: \S*toast \(session \S+\) answers at \S+, but nux was requested\ngt: error: .*never/,
      );
    });

    it("stops the agent and prints how it ended", async () => {
      const stopped = await run("stop", "--grace", "5s");
      expect(stopped).toMatchObject({ code: 0, stderr: "" });
      expect(stopped.stdout).toMatch(/^✓ stopped \S*toast: exit code \d+( \(SIG\w+\))?\n$/);
    });
  } else {
    it("does not stop an agent that no sidecar runs", async () => {
      const shown = await run("stop");
      expect(shown).toMatchObject({ code: 2, stdout: "" });
      expect(shown.stderr).toMatch(/^gt: error: local tmux "\S+" is not run by a sidecar/);
    });

    it("refuses a request id for keys without a sidecar", async () => {
      expect(await run("keys", "Up", "--request-id", "k")).toMatchObject({ code: 2, stdout: "" });
    });
  }
});
