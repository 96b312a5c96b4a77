import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { ModelServer } from "../fakes/model-server.ts";
import { type AgentKind, makeAgentHome } from "../support/agents/agents-home.ts";
import { Containers, HARDENED, untilShown } from "../support/cluster/containers.ts";
import { until } from "../support/sidecar/sidecar.ts";

const LIMIT_MS = 600_000;
const ORPHANS = Number(process.env["GT_TEST_ORPHANS"] ?? "300");

/** Reports where it runs, then the fate of the orphans that it made. */
const PROBE = `
echo "first: $(tr '\\0' ' ' </proc/1/cmdline)"
echo "uid: $(id -u)"
grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status
touch /probe 2>&1
for p in sshd gcc cc g++ make ld python3 ssh; do command -v $p; done
head -n 1 /opt/gt/THIRD-PARTY-NOTICES
for p in tmux git curl; do command -v $p >/dev/null && echo "has $p"; done
# An ended orphan counts against the limit of processes until it is waited for, half a second later.
i=0; while [ $i -lt ${ORPHANS} ]; do (sleep 0.05 &); i=$((i+1)); [ $((i%50)) -ne 0 ] || sleep 1; done
sleep 2
echo "zombies: $(cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z ')"
echo probed
exec sleep 100000`;

it(
  "the image peeks, nudges and stops gracefully as an unknown user without rights on a read-only root",
  async (context) => {
    const containers = await Containers.here(context);
    const image = await containers.build("demo");
    await using container = containers.run(image, { options: HARDENED, args: ["--grace", "8s"] });
    await container.firstPeek();
    await until("readiness", 30_000, async () => (await fetch(`${container.healthUrl}/readyz`)).ok || undefined);
    const state = async () => (await container.client.status({})).state === AgentState.IDLE || undefined;
    await until("an idle agent", 60_000, state, container.log);
    const receipt = await container.client.nudge({ message: "hello in there" });
    expect(receipt.outcome).toBe(NudgeOutcome.SUBMITTED);
    expect((await container.client.peek({})).output).toContain("hello in there");
    container.signal("SIGTERM");
    expect(await container.exited).toBe(0);
    expect(container.log()).toContain('"exit_code":0');
  },
  LIMIT_MS,
);

describe("the image for any program", () => {
  it(
    "says in one line what is missing when no program is named",
    async (context) => {
      const containers = await Containers.here(context);
      const image = await containers.build("none");
      const { code, text } = await containers.output(image, HARDENED);
      expect([code, text]).toEqual([2, expect.stringContaining("--agent generic needs a command")]);
      expect(text.trim().split("\n").length).toBeLessThanOrEqual(2);
    },
    LIMIT_MS,
  );

  it(
    `runs it with minimal rights, and reaps all of ${ORPHANS} orphans`,
    async (context) => {
      const containers = await Containers.here(context);
      const image = await containers.build("none");
      await using container = containers.run(image, { options: HARDENED, args: ["--", "sh", "-c", PROBE] });
      const text = await untilShown(container, /^probed$/m, 120_000 + ORPHANS * 40);
      expect(text).toMatch(/^first: node .*gt-sidecar/m);
      expect(text).toMatch(/^uid: 54321$/m);
      expect(text).toMatch(/^CapEff:\s+0+$/m);
      expect(text).toMatch(/^CapBnd:\s+0+$/m);
      expect(text).toMatch(/^NoNewPrivs:\s+1$/m);
      expect(text).toMatch(/^Seccomp:\s+2$/m);
      expect(text).toMatch(/Read-only file system/);
      expect(text).toMatch(/^Licences of the packages/m);
      expect(text).toMatch(/has tmux\nhas git\nhas curl/);
      expect(text).not.toMatch(/bin\/(sshd|ssh|gcc|cc|g\+\+|make|ld|python3)$/m);
      expect(text).toMatch(/^zombies: 0$/m);
    },
    LIMIT_MS,
  );
});

/** Without this setting Claude Code decides by itself when to ask for permission. */
const COMMANDS: Readonly<Record<AgentKind, readonly string[]>> = {
  claude: ["--", "claude", "--permission-mode", "default"],
  codex: [],
  opencode: [],
};

// Each of these images takes minutes to build, and no other test needs them.
if (process.env["GT_E2E"] === "full") {
  it.for<AgentKind>(["claude", "codex", "opencode"])(
    "the image with %s delivers a message once, shows the agent's dialog, and stops when asked to",
    { timeout: 2 * LIMIT_MS },
    async (agent, context) => {
      const containers = await Containers.here(context);
      const image = await containers.build(agent);
      const dir = await mkdtemp(join(tmpdir(), "gt-image-"));
      context.onTestFinished(() => rm(dir, { recursive: true, force: true }));
      await using model = await ModelServer.listen({ wordDelayMs: 0 });
      const { workdir, env } = await makeAgentHome({ agent, dir, modelUrl: model.url });
      await promisify(execFile)("chmod", ["-R", "a+rwX", dir]);
      const { PATH: _, ...own } = env;
      const named = Object.entries({ ...own, GT_AGENT_WORKDIR: workdir }).flatMap(([key, value]) => [
        "--env",
        `${key}=${value}`,
      ]);
      await using container = containers.run(image, {
        options: [...HARDENED, "--memory", "2g", "--memory-swap", "2g", "--volume", `${dir}:${dir}`, ...named],
        args: ["--restart", "never", "--linger", "10s", ...COMMANDS[agent]],
      });
      const { client } = container;
      const state = (wanted: AgentState) => async () => (await client.status({})).state === wanted || undefined;
      await container.firstPeek();
      await until("an idle agent", 120_000, state(AgentState.IDLE), container.log);
      const receipt = await client.nudge({ message: "marker: hello in there", timeoutMs: 60_000n });
      expect(receipt).toMatchObject({ outcome: NudgeOutcome.SUBMITTED, error: "" });
      await until("its arrival", 30_000, () => model.arrivals("marker: hello in there") === 1 || undefined);
      await until("an idle agent", 60_000, state(AgentState.IDLE), container.log);
      await client.nudge({ message: "RUN-TOOL touch made-by-tool", timeoutMs: 60_000n });
      await until("its dialog", 60_000, state(AgentState.DIALOG), container.log);
      const stopped = await client.stopAgent({ graceMs: 20_000n });
      expect(stopped).toMatchObject({ alreadyStopped: false, signal: "" });
      container.signal("SIGTERM");
      expect(await container.exited).toBe(stopped.exitCode);
    },
  );
}
