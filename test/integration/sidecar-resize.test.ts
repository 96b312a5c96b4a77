import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { startSidecar, until } from "../support/sidecar.ts";

const run = promisify(execFile);

it("a window whose size the agent changes is told as it is, drawn as it is, and gets its own size back", async () => {
  await using sidecar = await startSidecar();
  await sidecar.untilState(AgentState.IDLE);
  const tmux = (...args: readonly string[]) => run("tmux", ["-S", join(sidecar.stateDir, "tmux.sock"), ...args]);
  const size = async () => {
    const { cols, rows } = await sidecar.client.status({});
    return `${cols}x${rows}`;
  };
  const own = await size();

  // Whoever was attached before this process began is waited for with the size, for five seconds.
  for (const other of ["40x12", "220x70"]) {
    const [cols = "", rows = ""] = other.split("x");
    await tmux("resize-window", "-t", "=claude:", "-x", cols, "-y", rows);
    await until(`a size of ${other}`, 5000, async () => (await size()) === other || undefined);
    await until("its own size", 10_000, async () => (await size()) === own || undefined);
  }

  await tmux("split-window", "-h", "-d", "-t", "=claude:");
  const { stdout } = await tmux("list-panes", "-t", "=claude:", "-F", "#{pane_width}x#{pane_height}");
  const narrow = stdout.split("\n")[0] ?? "";
  await until("the pane's size", 5000, async () => (await size()) === narrow || undefined);
  const receipt = await sidecar.client.nudge({ message: "beside another pane" });
  expect(receipt.outcome).toBe(NudgeOutcome.SUBMITTED);
  const asDrawn = async () => (await sidecar.client.peek({ lines: 100 })).output.trimEnd();
  const asInTmux = async () => (await tmux("capture-pane", "-p", "-S", "-100", "-t", "%0")).stdout.trimEnd();
  const plain = (text: string) => text.replace(/[ ]+$/gm, "");
  await until("the same screen", 5000, async () => plain(await asDrawn()) === plain(await asInTmux()) || undefined);
  expect(await size()).toBe(narrow);
}, 60_000);
