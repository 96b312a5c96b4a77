import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { demoCommand, type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";
import { inItsTmux } from "../support/sidecar/sidecar-hands.ts";

const SUBMITTED = { outcome: NudgeOutcome.SUBMITTED, error: "" };

const withFaults = (faults: string, ...flags: string[]) =>
  startSidecar((dir) => ({ command: demoCommand(dir, "--faults", faults, ...flags) }));

async function idle(sidecar: RunningSidecar): Promise<RunningSidecar> {
  await sidecar.untilState(AgentState.IDLE);
  return sidecar;
}

describe("the text", () => {
  let sidecar: RunningSidecar;
  beforeAll(async () => {
    sidecar = await idle(await startSidecar((dir) => ({ command: demoCommand(dir, "--turn-ms", "20") })));
  });
  afterAll(() => sidecar[Symbol.asyncDispose]());

  /** The messages that the agent took while `work` ran. */
  async function takenOf(work: () => Promise<void>): Promise<readonly string[]> {
    const before = (await sidecar.taken()).length;
    await work();
    return (await sidecar.taken()).slice(before);
  }
  const sendAll = (messages: readonly string[]) =>
    takenOf(async () => {
      for (const message of messages) expect(await sidecar.client.nudge({ message }), message).toMatchObject(SUBMITTED);
    });

  it("contains the end of bracketed paste and other control sequences: they are removed, and the receipt shows what was typed", async () => {
    const message = "before\x1b[201~\rtouch broke-out\r\x1b[2J\x07\b\x7f\x9b3A after";
    let typed = "";
    const taken = await takenOf(async () => {
      const receipt = await sidecar.client.nudge({ message });
      expect(receipt).toMatchObject(SUBMITTED);
      typed = receipt.deliveredText;
    });
    expect(taken).toEqual([typed]);
    expect(typed).toMatch(/^before[\n -~]* after$/);
  });

  it("is the name of a key: it is typed, not pressed", async () => {
    const names = ["Enter", "ENTER", "C-c", "Up", "Escape", "BSpace"];
    expect(await sendAll(names)).toEqual(names);
  });

  it("is empty or consists of control sequences: it is refused, and nothing is typed", async () => {
    const taken = await takenOf(async () => {
      await expect(sidecar.client.nudge({ message: "" })).rejects.toMatchObject({ code: Code.InvalidArgument });
      const controls = await sidecar.client.nudge({ message: "\x1b[2J\x07\x7f\x1b]0;x\x07" });
      expect(controls.outcome).toBe(NudgeOutcome.UNSAFE);
    });
    expect(taken).toEqual([]);
  });

  it("is sent twice in a row, and then its tail: each arrives once", async () => {
    const long = "please look at the old barn behind the house";
    const texts = [long, long, long.slice(-20)];
    expect(await sendAll(texts)).toEqual(texts);
  });

  it("is one byte over 64 KiB: it is refused as a whole", async () => {
    const taken = await takenOf(async () => {
      const call = sidecar.client.nudge({ message: "x".repeat(65_537) });
      await expect(call).rejects.toMatchObject({ code: Code.InvalidArgument });
    });
    expect(taken).toEqual([]);
  });

  it("is sent to a terminal in copy mode, tree mode or clock mode: it still arrives", async () => {
    const modes = ["copy-mode", "choose-tree", "clock-mode"];
    const taken = await takenOf(async () => {
      for (const mode of modes) {
        await inItsTmux(sidecar, mode, "-t", "PANE");
        expect((await inItsTmux(sidecar, "display-message", "-p", "-t", "PANE", "#{pane_in_mode}")).trim()).toBe("1");
        expect(await sidecar.client.nudge({ message: `hello in ${mode}` })).toMatchObject(SUBMITTED);
      }
    });
    expect(taken).toEqual(modes.map((mode) => `hello in ${mode}`));
  });
});

describe("a program that reads line by line", () => {
  it("gets all of a line that is longer than the terminal's buffer, or the line is not reported as submitted", async () => {
    const command = ["sh", "-c", 'echo ready; while IFS= read -r line; do printf "%s\\n" "$line" >>lines.txt; done'];
    await using sidecar = await startSidecar({ agent: "generic", command });
    const lines = async () => (await readFile(join(sidecar.dir, "lines.txt"), "utf8").catch(() => "")).split("\n");
    for (const bytes of [2000, 6000]) {
      const message = `${"words ".repeat(bytes / 6)}end-${bytes}`;
      const { outcome } = await sidecar.client.nudge({ message, timeoutMs: 20_000n });
      if (outcome === NudgeOutcome.SUBMITTED)
        await expect.poll(lines, { message: `${bytes} bytes` }).toContain(message);
      else expect([NudgeOutcome.UNKNOWN, NudgeOutcome.STRANDED]).toContain(outcome);
    }
  });
});

describe("the agent", () => {
  it("is not ready yet: the text is held until it is, and arrives whole and once", async () => {
    await using sidecar = await withFaults("slow-start=1500");
    const message = "sent before\nthere was a composer";
    expect(await sidecar.client.nudge({ message })).toMatchObject(SUBMITTED);
    expect(await sidecar.taken()).toEqual([message]);
  });

  it.each(["drop-first-enter", "eat-enter-after-paste=120"])(
    "ignores the Enter after a paste (%s): Enter is pressed again, and the text arrives once",
    async (fault) => {
      await using sidecar = await idle(await withFaults(fault, "--turn-ms", "50"));
      for (const message of ["first", "two\nlines", "third"]) {
        expect(await sidecar.client.nudge({ message })).toMatchObject(SUBMITTED);
      }
      await sidecar.untilState(AgentState.IDLE);
      expect((await sidecar.taken()).map((text) => text.trim())).toEqual(["first", "two\nlines", "third"]);
    },
  );

  it("looks idle between two steps: nothing is typed then, and no Escape stops its turn", async () => {
    await using sidecar = await idle(await withFaults("flicker-idle=900", "--turn-ms", "4000", "--steps", "4"));
    await sidecar.client.nudge({ message: "work on this" });
    const receipt = await sidecar.client.nudge({ message: "and then on that", timeoutMs: 30_000n });
    expect(receipt).toMatchObject(SUBMITTED);
    const { output } = await sidecar.client.peek({ all: true });
    expect(output).toContain("Read your message (3 words)");
    expect(output).not.toMatch(/interrupt(?:ed|ion)/i);
    expect(output.indexOf("Read your message")).toBeLessThan(output.lastIndexOf("and then on that"));
  });

  it("is working: ten concurrent texts enter its own queue or are held, and each arrives once and in order", async () => {
    await using sidecar = await idle(await startSidecar((dir) => ({ command: demoCommand(dir, "--turn-ms", "800") })));
    await sidecar.client.nudge({ message: "begin" });
    const texts = Array.from({ length: 10 }, (_, i) => `while busy ${i}`);
    const calls = texts.map((message) =>
      sidecar.client.nudge({ message, mode: NudgeMode.IMMEDIATE, timeoutMs: 40_000n }),
    );
    for (const { outcome } of await Promise.all(calls)) expect(outcome).toBe(NudgeOutcome.SUBMITTED);
    await until("all of them", 30_000, async () => (await sidecar.taken()).length === 11 || undefined);
    expect(await sidecar.taken()).toEqual(["begin", ...texts]);
  });

  it("pauses in the middle of each redraw: each text arrives once, as its receipt says", {
    timeout: 300_000,
  }, async () => {
    await using sidecar = await idle(await withFaults("torn-drawing=30", "--turn-ms", "1500"));
    const texts = ["begin", "half-drawn 1", "half-drawn 2"];
    for (const message of texts) {
      const receipt = await sidecar.client.nudge({ message, mode: NudgeMode.IMMEDIATE, timeoutMs: 60_000n });
      expect(receipt).toMatchObject(SUBMITTED);
    }
    await until("all of them", 60_000, async () => (await sidecar.taken()).length === texts.length || undefined);
    expect(await sidecar.taken()).toEqual(texts);
  });

  it("opens a dialog over a pasted text: no Enter answers it, and the tool does not run", async () => {
    await using sidecar = await idle(await withFaults("open-dialog-on-paste"));
    const receipt = await sidecar.client.nudge({ message: "please go on" });
    expect([NudgeOutcome.UNKNOWN, NudgeOutcome.STRANDED]).toContain(receipt.outcome);
    expect((await sidecar.client.status({})).state).toBe(AgentState.DIALOG);
    expect(await sidecar.taken()).toEqual([]);
    expect(await readFile(join(sidecar.dir, "tools.log"), "utf8").catch(() => "")).toBe("");
  });
});

describe("the terminal", () => {
  it("accepts no input: nothing is reported as submitted", async () => {
    await using sidecar = await idle(await startSidecar());
    await inItsTmux(sidecar, "select-pane", "-d", "-t", "PANE");
    const receipt = await sidecar.client.nudge({ message: "hello", mode: NudgeMode.IMMEDIATE });
    expect(receipt.outcome).not.toBe(NudgeOutcome.SUBMITTED);
    await sleep(300);
    expect(await sidecar.taken()).toEqual([]);
  });
});
