import { execFile } from "node:child_process";
import { join } from "node:path";
import { kill } from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { AgentState } from "../../internal/gen/gastown/v1/common_pb.ts";
import { RESTART_MS, startSidecar, until } from "../support/sidecar/sidecar.ts";

const STOPPED_MS = 700;

it("a new serving half does not report an agent as dead before it has looked at it", async () => {
  await using sidecar = await startSidecar();
  await sidecar.untilState(AgentState.IDLE);
  const { client, stateDir, servingPid } = sidecar;
  const tmux = ["-S", join(stateDir, "tmux.sock"), "display-message", "-p", "#{pid}"];
  const tmuxPid = Number((await promisify(execFile)("tmux", tmux)).stdout);
  const before = servingPid();
  // Makes the look take longer than the calls need to arrive, but so short that the serving half does not count as
  // hung.
  kill(tmuxPid, "SIGSTOP");
  const continuing = sleep(STOPPED_MS).then(() => kill(tmuxPid, "SIGCONT"));
  kill(before, "SIGKILL");
  await until("another serving half", RESTART_MS, () => servingPid() !== before || undefined);
  const [status, peek] = await Promise.all([client.status({}), client.peek({ lines: 1 })]);
  await continuing;
  expect([status.sessionAlive, peek.sessionAlive]).toEqual([true, true]);
});
