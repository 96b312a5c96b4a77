import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode, RespondOutcome } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { ErrorInfoSchema } from "../../internal/gen/google/rpc/error_details_pb.ts";
import { demoCommand, type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

const { ANSWERED, CHANGED } = RespondOutcome;

/** The open dialog, once there is one whose title `wanted` accepts. */
async function dialog(sidecar: RunningSidecar, wanted: (title: string) => boolean = () => true) {
  return await until("a dialog", 30_000, async () => {
    const { state, dialog } = await sidecar.client.status({});
    return state === AgentState.DIALOG && dialog !== undefined && wanted(dialog.title) ? dialog : undefined;
  });
}

async function toolsRun(sidecar: RunningSidecar): Promise<string> {
  return await readFile(join(sidecar.dir, "tools.log"), "utf8").catch(() => "");
}

/** The code and the fields of the error with which a call ends. */
async function failure(call: Promise<unknown>) {
  const err = ConnectError.from(
    await call.then(
      () => new Error("it did not fail"),
      (reason: unknown) => reason,
    ),
  );
  return { code: err.code, message: err.rawMessage, fields: err.findDetails(ErrorInfoSchema)[0]?.metadata ?? {} };
}

describe("Respond to one agent's dialogs", () => {
  let sidecar: RunningSidecar;
  let [messages, toolBytes] = [0, 0];
  beforeAll(async () => {
    sidecar = await startSidecar();
  });
  beforeEach(async () => {
    await sidecar.untilState(AgentState.IDLE);
    messages = (await sidecar.taken()).length;
    toolBytes = (await toolsRun(sidecar)).length;
  });
  afterAll(() => sidecar?.[Symbol.asyncDispose]());

  /** The messages that the agent took since the test began. */
  const takenNow = async () => (await sidecar.taken()).slice(messages);
  /** The tools that ran since the test began. */
  const toolsNow = async () => (await toolsRun(sidecar)).slice(toolBytes);

  it("types a text into a choice that asks for one", async () => {
    await sidecar.client.nudge({ message: "ask: Which colour?|Green|Blue|..." });
    const { id: dialogId, choices } = await dialog(sidecar);
    expect(choices.map((one) => one.label)).toEqual(["Green", "Blue", "Type something."]);
    const without = await failure(sidecar.client.respond({ dialogId, choice: "3" }));
    expect(without).toMatchObject({ code: Code.InvalidArgument, message: "choice 3 needs a text" });
    const elsewhere = await failure(sidecar.client.respond({ dialogId, choice: "1", text: "mauve" }));
    expect(elsewhere).toMatchObject({ code: Code.InvalidArgument, message: "choice 1 takes no text" });
    expect(await failure(sidecar.client.respond({ dialogId, text: "a\nb" }))).toMatchObject({
      code: Code.InvalidArgument,
    });
    expect(await sidecar.client.respond({ dialogId, text: "mauve, with dots" })).toMatchObject({ outcome: ANSWERED });
    await sidecar.untilState(AgentState.IDLE);
    expect((await sidecar.client.peek({ lines: 50 })).output).toContain("⎿ mauve, with dots");
  });

  it("refuses a dialog other than the one on the screen, and names that one", async () => {
    await sidecar.client.nudge({ message: "please run: rm x" });
    const { id, choices } = await dialog(sidecar);
    const stale = await failure(sidecar.client.respond({ dialogId: "0123456789abcdef", choice: "1" }));
    expect(stale).toMatchObject({ code: Code.FailedPrecondition, fields: { dialog_id: id } });
    const unknown = await failure(sidecar.client.respond({ dialogId: id, choice: "9" }));
    expect(unknown).toMatchObject({ code: Code.InvalidArgument, fields: { choices: "1 2 3" } });
    expect((await failure(sidecar.client.respond({ choice: "1" }))).code).toBe(Code.InvalidArgument);
    const now = await dialog(sidecar);
    expect([now.id, now.choices]).toEqual([id, choices]);
    expect(await toolsNow()).toBe("");
    expect(await sidecar.client.respond({ dialogId: id, choice: "3" })).toMatchObject({ outcome: ANSWERED });
  });

  it("answers once per request id, and refuses the id with another choice", async () => {
    await sidecar.client.nudge({ message: "please run: rm x" });
    const { id: dialogId } = await dialog(sidecar);
    const answer = { dialogId, choice: "1", requestId: "a-1" };
    const both = await Promise.all([sidecar.client.respond(answer), sidecar.client.respond(answer)]);
    expect(both.map((one) => one.outcome)).toEqual([ANSWERED, ANSWERED]);
    expect((await sidecar.client.respond(answer)).outcome).toBe(ANSWERED);
    const other = await failure(sidecar.client.respond({ ...answer, choice: "3" }));
    expect(other.code).toBe(Code.AlreadyExists);
    expect(await toolsNow()).toBe("rm x\n");
  });

  it("lets one of two callers answer, and then a waiting message is delivered", async () => {
    await sidecar.client.nudge({ message: "please run: rm x" });
    const { id: dialogId } = await dialog(sidecar);
    await sidecar.client.nudge({ message: "me later", mode: NudgeMode.QUEUE, requestId: "later" });
    const both = await Promise.allSettled([
      sidecar.client.respond({ dialogId, choice: "1" }),
      sidecar.client.respond({ dialogId, choice: "1" }),
    ]);
    expect(both.map((one) => one.status).sort()).toEqual(["fulfilled", "rejected"]);
    await until("the message", 30_000, async () => {
      const { outcome } = await sidecar.client.getNudge({ requestId: "later" });
      return outcome === NudgeOutcome.SUBMITTED || undefined;
    });
    expect(await toolsNow()).toBe("rm x\n");
    expect(await takenNow()).toEqual(["please run: rm x", "me later"]);
  });

  it.each([
    ["1", "Yes", "rm x\n"],
    ["3", "No", ""],
    ["2", "Yes, and do not ask again", "rm x\n"], // the last test here: the agent opens no such dialog afterwards
  ])("selects choice %s (%s) of a permission dialog with the arrows, and confirms it", async (choice, _label, ran) => {
    await sidecar.client.nudge({ message: "please run: rm x" });
    const { id: dialogId } = await dialog(sidecar);
    const { outcome, evidence } = await sidecar.client.respond({ dialogId, choice });
    expect(outcome).toBe(ANSWERED);
    expect(evidence.map((one) => one.value)).toContain("the dialog has closed");
    await sidecar.untilState(AgentState.IDLE);
    expect(await toolsNow()).toBe(ran);
    const again = await failure(sidecar.client.respond({ dialogId, choice }));
    expect(again).toMatchObject({ code: Code.FailedPrecondition, fields: { dialog_id: "" } });
    expect(await toolsNow()).toBe(ran);
  });
});

describe("Respond", () => {
  it("answers the trust dialog, the question and the model list", async () => {
    await using sidecar = await startSidecar((dir) => ({ command: demoCommand(dir, "--trust-dialog") }));
    const trust = await dialog(sidecar);
    expect(await sidecar.client.respond({ dialogId: trust.id, choice: "1" })).toMatchObject({ outcome: ANSWERED });
    await sidecar.untilState(AgentState.IDLE);
    await sidecar.client.nudge({ message: "ask: Which colour?|Green|Blue|Red" });
    const question = await dialog(sidecar);
    expect(question.title).toBe("Which colour?");
    expect(await sidecar.client.respond({ dialogId: question.id, choice: "3" })).toMatchObject({ outcome: ANSWERED });
    await sidecar.untilState(AgentState.IDLE);
    expect((await sidecar.client.peek({ lines: 50 })).output).toContain("⎿ Red");
    await sidecar.client.sendKeys({ text: "/model" });
    await sidecar.client.sendKeys({ keys: ["Enter"] });
    const models = await dialog(sidecar);
    expect(await sidecar.client.respond({ dialogId: models.id, choice: "2" })).toMatchObject({ outcome: ANSWERED });
    await until("the model", 30_000, async () => {
      const { output } = await sidecar.client.peek({ lines: 50 });
      return output.includes("model is now demo-large") || undefined;
    });
  });

  it("reports that another dialog replaced the answered one", async () => {
    await using sidecar = await startSidecar((dir) => ({ command: demoCommand(dir, "--turn-ms", "1") }));
    await sidecar.client.nudge({ message: "run: first\nask: Which?|A|B" });
    const first = await dialog(sidecar);
    expect(await sidecar.client.respond({ dialogId: first.id, choice: "1" })).toMatchObject({ outcome: CHANGED });
    expect(await toolsRun(sidecar)).toBe("first\n");
    const second = await dialog(sidecar, (title) => title === "Which?");
    const stale = await failure(sidecar.client.respond({ dialogId: first.id, choice: "1" }));
    expect(stale).toMatchObject({ code: Code.FailedPrecondition, fields: { dialog_id: second.id } });
    expect(await sidecar.client.respond({ dialogId: second.id, choice: "2" })).toMatchObject({ outcome: ANSWERED });
  });

  it("reports that dialogs of a generic program are unknown", async () => {
    await using sidecar = await startSidecar({ agent: "generic", command: ["cat"] });
    const call = await failure(sidecar.client.respond({ dialogId: "0123456789abcdef", choice: "1" }));
    expect(call).toMatchObject({ code: Code.Unimplemented, message: expect.stringContaining("in its terminal") });
  });
});

describe("SendKeys to one agent", () => {
  let sidecar: RunningSidecar;
  let messages = 0;
  beforeAll(async () => {
    sidecar = await startSidecar();
  });
  beforeEach(async () => {
    await sidecar.untilState(AgentState.IDLE);
    messages = (await sidecar.taken()).length;
  });
  afterAll(() => sidecar?.[Symbol.asyncDispose]());

  /** The messages that the agent took since the test began. */
  const takenNow = async () => (await sidecar.taken()).slice(messages);

  it("presses keys and types text into the current screen", async () => {
    expect(await sidecar.client.sendKeys({ text: "Enter -n; C-c" })).toMatchObject({ sent: true });
    await until("the draft", 30_000, async () => (await sidecar.client.status({})).draft || undefined);
    await sidecar.client.sendKeys({ keys: ["BSpace", "!", "Enter"] });
    await until("the message", 30_000, async () => (await takenNow()).length > 0 || undefined);
    expect(await takenNow()).toEqual(["Enter -n; C-!"]);
  });

  it("refuses keys together with text, neither, an unknown key, too long a text, and an invalid request id", async () => {
    const requests = [
      { keys: ["Enter"], text: "x" },
      {},
      { keys: ["Enter", "Return"] },
      { text: "x".repeat(65_537) },
      { keys: ["Enter"], requestId: "a b" },
    ];
    for (const request of requests) {
      expect((await failure(sidecar.client.sendKeys(request))).code).toBe(Code.InvalidArgument);
    }
  });

  it("presses once per request id", async () => {
    const request = { text: "x", requestId: "k-1" };
    await Promise.all([sidecar.client.sendKeys(request), sidecar.client.sendKeys(request)]);
    await sidecar.client.sendKeys(request);
    expect((await failure(sidecar.client.sendKeys({ ...request, text: "y" }))).code).toBe(Code.AlreadyExists);
    await sidecar.client.sendKeys({ keys: ["Enter"] });
    await until("the message", 30_000, async () => (await takenNow()).length > 0 || undefined);
    expect(await takenNow()).toEqual(["x"]);
  });
});

describe("SendKeys", () => {
  it("refuses when the agent is dead", async () => {
    await using sidecar = await startSidecar((dir) => ({
      flags: ["--restart", "never", "--linger", "30s"],
      command: demoCommand(dir, "--faults", "exit-on=stop,exit-code=7"),
    }));
    await sidecar.client.nudge({ message: "stop" });
    await sidecar.untilState(AgentState.DEAD);
    expect((await failure(sidecar.client.sendKeys({ keys: ["C-c"] }))).code).toBe(Code.FailedPrecondition);
    expect((await failure(sidecar.client.sendKeys({ text: "x" }))).code).toBe(Code.FailedPrecondition);
  });

  it("lets Ctrl-C overtake a delivery in progress, whose receipt is still true", async () => {
    await using sidecar = await startSidecar((dir) => ({
      command: demoCommand(dir, "--faults", "echo-delay=3000"),
    }));
    await sidecar.untilState(AgentState.IDLE);
    let isOver = false;
    const delivery = sidecar.client.nudge({ message: "never to be taken" }).finally(() => (isOver = true));
    await until("the text to be typed", 30_000, async () => {
      const { evidence } = await sidecar.client.status({});
      return evidence[0]?.value.includes("drawn nothing since a message was typed") || undefined;
    });
    await sidecar.client.sendKeys({ keys: ["C-c"] });
    expect(isOver).toBe(false);
    const receipt = await delivery;
    const taken = await sidecar.taken();
    expect({ outcome: receipt.outcome, taken }).toEqual({ outcome: NudgeOutcome.UNKNOWN, taken: [] });
  });
});
