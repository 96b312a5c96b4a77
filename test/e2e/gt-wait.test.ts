import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AgentPlace, demoAgent, inLocalTmux, inSidecar } from "../support/agents/agent-places.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import type { Ran } from "../support/run-to-end.ts";

describe.each([
  ["in a sidecar", inSidecar],
  ["in local tmux", inLocalTmux],
] as const)("gt wait for an agent %s", (_, start) => {
  let place: AgentPlace;
  beforeAll(async () => {
    place = await start({ argv: (dir) => demoAgent(dir, "--seed", "7"), profile: "demo", cols: 70, rows: 20 });
  });
  afterAll(() => place?.[Symbol.asyncDispose]());

  function wait(...args: string[]): Promise<Ran> {
    return gt(["wait", "toast", ...place.flags, ...args], place.env);
  }

  it("returns when it is idle, and when it is done", async () => {
    const idle = await wait("--for", "idle", "--timeout", "30s");
    expect(idle).toMatchObject({ code: 0, stderr: "" });
    expect(idle.stdout).toMatch(/toast is idle\n$/);
    const done = await wait("--for", "done", "--timeout", "30s", "--json");
    expect(done.code).toBe(0);
    expect(JSON.parse(done.stdout)).toMatchObject({ for: "done", reached: true, state: "idle", background: [] });
  });

  it("exits with 5 when the state is not reached in time, and names the agent's state", async () => {
    const late = await wait("--for", "dialog", "--timeout", "300ms");
    expect(late).toMatchObject({ code: 5, stdout: "" });
    expect(late.stderr).toMatch(/^gt: error: \S*toast is \w+ after .*, not dialog\n/);
    const json = await wait("--for", "dialog", "--timeout", "300ms", "--json");
    expect(json).toMatchObject({ code: 5, stderr: "" });
    expect(JSON.parse(json.stdout)).toMatchObject({ for: "dialog", reached: false });
  });

  it("rejects an unknown state", async () => {
    expect(await wait("--for", "busy")).toMatchObject({ code: 2, stdout: "" });
    expect(await wait()).toMatchObject({ code: 2, stdout: "" });
  });

  it("returns when it has died", async () => {
    const waiting = wait("--for", "dead", "--timeout", "60s");
    await new Promise((resolve) => setTimeout(resolve, 3000));
    const { agentPid } = await place.backend.status(AbortSignal.timeout(60_000));
    process.kill(agentPid, "SIGTERM");
    const dead = await waiting;
    expect(dead).toMatchObject({ code: 0, stderr: "" });
    expect(dead.stdout).toMatch(/toast is dead\n$/);
  });
});
