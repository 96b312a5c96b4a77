import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { demoAgent, inLocalTmux } from "../support/agent-places.ts";
import { gt } from "../support/gt-transcript.ts";
import { type RunningSidecar, startSidecar, until } from "../support/sidecar.ts";

const run = promisify(execFile);

/** `gt` with a sidecar named by its address. */
function gtAt({ dir, runtimeDir, host, port }: RunningSidecar, ...args: readonly string[]) {
  const env = { PATH: process.env["PATH"] ?? "", HOME: dir, XDG_RUNTIME_DIR: runtimeDir };
  return gt([...args, "--host", host, "--port", String(port)], env);
}

it("gt status says starting, and how the last life ended, while a restart is due", async () => {
  const command = ["sh", "-c", "sleep 0.05; exit 3"];
  await using sidecar = await startSidecar({ agent: "generic", command, flags: ["--restart", "always"] });
  // The pauses double: the one before the fourth restart is long enough for a look.
  await until("the third restart's end", 30_000, async () => {
    const { restarts, sessionAlive } = await sidecar.client.status({});
    return (restarts === 3 && !sessionAlive) || undefined;
  });
  const { code, stdout } = await gtAt(sidecar, "status", "toast");
  expect(code).toBe(0);
  expect(stdout).toMatch(/starting[\s\S]*ended with exit code 3, 3 restarts\n/);
});

it("gt ends with 4 when the sidecar has gone, and names the place", async () => {
  await using sidecar = await startSidecar();
  sidecar.process.kill("SIGKILL");
  await sidecar.exited;
  await until("its port to be closed", 10_000, async () => {
    const answer = await fetch(`${sidecar.healthUrl}/livez`).catch(() => undefined);
    return answer === undefined || undefined;
  });
  for (const command of ["status", "peek", "nudge"]) {
    const text = command === "nudge" ? ["hello"] : [];
    const { code, stderr } = await gtAt(sidecar, command, "toast", ...text);
    expect([command, code]).toEqual([command, 4]);
    expect(stderr).toMatch(new RegExp(`^gt: error: .*${sidecar.port}`));
  }
});

it("gt ends with 3 when the local session has been closed", async () => {
  await using place = await inLocalTmux({ argv: (dir) => demoAgent(dir), profile: "demo" });
  await run("tmux", ["-S", join(place.dir, "tmux.sock"), "new-session", "-d", "-s", "other", "sleep", "1000"]);
  await run("tmux", ["-S", join(place.dir, "tmux.sock"), "kill-session", "-t", "=gt-toast"]);
  for (const command of ["status", "peek", "nudge"]) {
    const text = command === "nudge" ? ["hello"] : [];
    const { code, stderr } = await gt([command, "toast", ...place.flags, ...text], place.env);
    expect([command, code]).toEqual([command, 3]);
    expect(stderr).toMatch(/^gt: error: .*toast/);
  }
});
