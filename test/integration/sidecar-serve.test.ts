import { readFile } from "node:fs/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { demoCommand, type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

describe("an idle demo agent", () => {
  let sidecar: RunningSidecar;
  let before = 0;
  beforeAll(async () => {
    sidecar = await startSidecar((dir) => ({ command: demoCommand(dir, "--turn-ms", "20") }));
  });
  beforeEach(async () => {
    await sidecar.untilState(AgentState.IDLE);
    before = (await sidecar.taken()).length;
  });
  afterAll(() => sidecar?.[Symbol.asyncDispose]());

  /** The messages that the agent took since the test began. */
  const takenNow = async () => (await sidecar.taken()).slice(before);

  it("reports the agent's state, and delivers a message once", async () => {
    const receipt = await sidecar.client.nudge({ message: "hello there" });
    expect(receipt).toMatchObject({ delivered: true, outcome: NudgeOutcome.SUBMITTED, error: "" });
    expect(receipt.evidence.map((item) => item.source)).toContain("hook");
    expect(await takenNow()).toEqual(["hello there"]);
    const status = await sidecar.client.status({});
    expect(status).toMatchObject({ sessionAlive: true, agent: "test/polecats/demo", provider: "demo", restarts: 0 });
  });

  it("answers a repeated request id with the same receipt and types nothing", async () => {
    const first = await sidecar.client.nudge({ message: "only once", requestId: "r-1" });
    const again = await sidecar.client.nudge({ message: "only once", requestId: "r-1" });
    expect(again.outcome).toBe(first.outcome);
    expect((await sidecar.client.getNudge({ requestId: "r-1" })).outcome).toBe(NudgeOutcome.SUBMITTED);
    expect(await takenNow()).toEqual(["only once"]);
    const other = sidecar.client.nudge({ message: "another text", requestId: "r-1" });
    await expect(other).rejects.toMatchObject({ code: Code.AlreadyExists });
  });

  it("delivers fifty concurrent messages whole and in order", async () => {
    const texts = Array.from({ length: 50 }, (_, i) => `message ${i} ${"word ".repeat(i % 7)}end${i}`);
    const calls = texts.map((message) => sidecar.client.nudge({ message, timeoutMs: 60_000n }));
    const receipts = await Promise.all(calls);
    expect(receipts.map((receipt) => receipt.outcome)).toEqual(texts.map(() => NudgeOutcome.SUBMITTED));
    expect(await takenNow()).toEqual(texts);
  });

  it.each([
    ["starts with a dash", "-n --force"],
    ["ends with a semicolon", "do this; and that;"],
    ["ends with a backslash", "C:\\"],
    ["key names", "Enter"],
    ["several lines with CRLF", "one\r\n\r\n  two\r\nthree\r\n"],
    ["quotes and formats", "$HOME ~ #{pane_id} \"q\" 'q' \\ {x} %if $(id) `id`"],
    ["wide and combined characters", "日本語 👩‍👩‍👧 🇩🇪 é e\u0301"],
    ["one character", "x"],
    ["only punctuation", "...?"],
    ["4 KiB", "lorem ipsum ".repeat(341)],
    ["64 KiB", "0123456789abcde ".repeat(4096)],
  ])("delivers a text unchanged: %s", async (_, message) => {
    const receipt = await sidecar.client.nudge({ message });
    expect(receipt).toMatchObject({ outcome: NudgeOutcome.SUBMITTED, error: "" });
    expect(await takenNow()).toEqual([receipt.deliveredText || message]);
  });
});

describe("a sidecar with the demo agent", () => {
  it("refuses a message while a permission dialog is open, queues at most fifty, and the tool does not run", async () => {
    await using sidecar = await startSidecar();
    await sidecar.client.nudge({ message: "please run: rm x" });
    await sidecar.untilState(AgentState.DIALOG);
    for (const mode of [NudgeMode.WAIT_IDLE, NudgeMode.IMMEDIATE]) {
      const refused = await sidecar.client.nudge({ message: "yes please", mode });
      expect(refused).toMatchObject({ delivered: false, outcome: NudgeOutcome.BLOCKED_BY_DIALOG });
    }
    const dialog = await until("the dialog", 30_000, async () => (await sidecar.client.status({})).dialog);
    expect(dialog.choices.map((choice) => choice.label)).toEqual(["Yes", "Yes, and do not ask again", "No"]);
    expect(await sidecar.taken()).toEqual(["please run: rm x"]);
    for (let i = 0; i < 50; i++) await sidecar.client.nudge({ message: `m${i}`, mode: NudgeMode.QUEUE });
    const one = await sidecar.client.nudge({ message: "one more", mode: NudgeMode.QUEUE }).catch((err: unknown) => err);
    expect(ConnectError.from(one).code).toBe(Code.ResourceExhausted);
    expect((await sidecar.client.status({})).queueDepth).toBe(50);
    expect(await sidecar.taken()).toEqual(["please run: rm x"]);
    expect(await readFile(`${sidecar.dir}/tools.log`, "utf8").catch(() => "")).toBe("");
  });

  it("keeps a person's draft: it refuses a message, and a queued one waits until the draft is gone", async () => {
    await using sidecar = await startSidecar();
    await sidecar.untilState(AgentState.IDLE);
    const typed = await fetch(`${sidecar.url}/gastown.v1.TerminalService/SendInput`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ input: "half a thou" }),
    });
    expect(await typed.json()).toMatchObject({ delivered: true });
    await until("the draft", 30_000, async () => (await sidecar.client.status({})).draft || undefined);
    const refused = await sidecar.client.nudge({ message: "me first" });
    expect(refused.outcome).toBe(NudgeOutcome.COMPOSER_BUSY);
    const held = await sidecar.client.nudge({ message: "me later", mode: NudgeMode.QUEUE, requestId: "later" });
    expect(held).toMatchObject({ outcome: NudgeOutcome.QUEUED, queuePosition: 1 });
    expect(await sidecar.taken()).toEqual([]);
    const called = await sidecar.client.cancelNudge({ requestId: "later" });
    expect(called.outcome).toBe(NudgeOutcome.CANCELLED);
  });

  it("fails a message with the agent's death, and exits with the agent's exit code", async () => {
    const flags = ["--restart", "never", "--linger", "3s"];
    await using sidecar = await startSidecar((dir) => ({
      flags,
      command: demoCommand(dir, "--faults", "exit-on=stop,exit-code=7"),
    }));
    await sidecar.client.nudge({ message: "stop" });
    await sidecar.untilState(AgentState.DEAD);
    expect(await sidecar.client.nudge({ message: "hello?" })).toMatchObject({ outcome: NudgeOutcome.AGENT_DEAD });
    expect(await sidecar.client.status({})).toMatchObject({ sessionAlive: false, exitCode: 7 });
    expect(await sidecar.exited).toBe(7);
  });

  it("restarts a failed agent, which then gets the waiting message", async () => {
    await using sidecar = await startSidecar((dir) => ({
      command: demoCommand(dir, "--faults", "exit-on=crash,exit-code=1"),
    }));
    await sidecar.client.nudge({ message: "crash" });
    await sidecar.untilState(AgentState.STARTING);
    expect(await sidecar.client.status({})).toMatchObject({ sessionAlive: false, agentPid: 0 });
    const receipt = await sidecar.client.nudge({ message: "hello again" });
    expect(receipt.outcome).toBe(NudgeOutcome.SUBMITTED);
    expect((await sidecar.client.status({})).restarts).toBe(1);
    expect(await sidecar.taken()).toEqual(["crash", "hello again"]);
  });
});
