import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { openAttach } from "../support/sidecar/attach-client.ts";
import { demoCommand, startSidecar, until } from "../support/sidecar/sidecar.ts";

it("a window that the agent resizes is reported and drawn at that size, and then restored", async () => {
  await using sidecar = await startSidecar();
  await sidecar.untilState(AgentState.IDLE);
  const tmux = (...args: readonly string[]) => execa("tmux", ["-S", join(sidecar.stateDir, "tmux.sock"), ...args]);
  const size = async () => {
    const { cols, rows } = await sidecar.client.status({});
    return `${cols}x${rows}`;
  };
  const own = await size();

  // The size of clients that attached before this process started is kept for five seconds.
  for (const other of ["40x12", "220x70"]) {
    const [cols = "", rows = ""] = other.split("x");
    await tmux("resize-window", "-t", "=claude:", "-x", cols, "-y", rows);
    await until(`a size of ${other}`, 60_000, async () => (await size()) === other || undefined);
    await until("its own size", 60_000, async () => (await size()) === own || undefined);
  }

  await tmux("split-window", "-h", "-d", "-t", "=claude:");
  const { stdout } = await tmux("list-panes", "-t", "=claude:", "-F", "#{pane_width}x#{pane_height}");
  const narrow = stdout.split("\n")[0] ?? "";
  await until("the pane's size", 60_000, async () => (await size()) === narrow || undefined);
  const receipt = await sidecar.client.nudge({ message: "beside another pane" });
  expect(receipt.outcome).toBe(NudgeOutcome.SUBMITTED);
  const asDrawn = async () => (await sidecar.client.peek({ lines: 100 })).output.trimEnd();
  const asInTmux = async () => (await tmux("capture-pane", "-p", "-S", "-100", "-t", "%0")).stdout.trimEnd();
  const plain = (text: string) => text.replace(/[ ]+$/gm, "");
  await until("the same screen", 60_000, async () => plain(await asDrawn()) === plain(await asInTmux()) || undefined);
  expect(await size()).toBe(narrow);
}, 60_000);

it("a window of 10,000 columns and rows takes no memory of the serving half, and is then restored", async () => {
  await using sidecar = await startSidecar();
  await sidecar.untilState(AgentState.IDLE);
  const memory = async () =>
    Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${sidecar.servingPid()}/status`, "utf8"))?.[1]);
  const before = await memory();
  const size = ["-x", "10000", "-y", "10000"];
  await execa("tmux", ["-S", join(sidecar.stateDir, "tmux.sock"), "resize-window", "-t", "=claude:", ...size]);
  await until("a large window", 60_000, async () => ((await sidecar.client.status({})).cols > 160 ? true : undefined));
  const { cols, rows } = await sidecar.client.status({});
  expect([cols, rows]).toEqual([500, 300]);
  await until("its own size", 60_000, async () => (await sidecar.client.status({})).cols === 160 || undefined);
  expect(await memory()).toBeLessThan(before + 80 * 1024);
});

it("the demo agent is idle with its last rows drawn within a second after a person attaches, resizes and detaches", async () => {
  await using sidecar = await startSidecar();
  await sidecar.untilState(AgentState.IDLE);
  const { outcome } = await sidecar.client.nudge({ message: "a turn before" });
  expect(outcome).toBe(NudgeOutcome.SUBMITTED);
  await sidecar.untilState(AgentState.IDLE);
  const idleWith = async (rows: number) => {
    await until(
      `a window of ${rows} rows`,
      8000,
      async () => (await sidecar.client.status({})).rows === rows || undefined,
    );
    await until(`idle at ${rows} rows`, 1000, async () => {
      const { state } = await sidecar.client.status({});
      const { output } = await sidecar.client.peek({ lines: 3 });
      return (state === AgentState.IDLE && /^> [\s\S]*\n─+\nready · /.test(output)) || undefined;
    });
  };
  const { cols, rows } = await sidecar.client.status({});
  {
    await using person = openAttach(sidecar.client, { cols, rows: 24 });
    await idleWith(24);
    person.resize(cols, 10);
    await idleWith(10);
    person.resize(cols, 40);
    await idleWith(40);
  }
  await idleWith(rows);
}, 60_000);

it("an agent without hooks keeps one state while a person attaches, drags the window's edge and detaches", async () => {
  const withoutHooks = (dir: string) => ["env", "-u", "GT_HOOK_FIFO", ...demoCommand(dir)];
  await using sidecar = await startSidecar((dir) => ({ command: withoutHooks(dir) }));
  await sidecar.untilState(AgentState.IDLE);
  const { cols, rows, stateSince } = await sidecar.client.status({});
  const seen = new Set<AgentState>();
  const settled = async (width: number) => {
    const isSettled = async () => {
      const status = await sidecar.client.status({});
      seen.add(status.state);
      return status.cols === width && Date.now() > end;
    };
    const end = Date.now() + 2500;
    await until(`a window of ${width} columns that has settled`, 60_000, async () => (await isSettled()) || undefined);
  };
  {
    await using person = openAttach(sidecar.client, { cols: 90, rows: 24 });
    for (const width of [100, 60, 120, 71]) person.resize(width, 30);
    await settled(71);
  }
  await settled(cols);
  expect([...seen]).toEqual([AgentState.IDLE]);
  expect(await sidecar.client.status({})).toMatchObject({ cols, rows, stateSince });
}, 60_000);
