import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { version } from "../../internal/cli/version.ts";
import { type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

const labels = ["--session-id", "s-1", "--project", 'a "b" \\ c'];

async function info(sidecar: RunningSidecar): Promise<string | undefined> {
  const metrics = await (await fetch(`${sidecar.healthUrl}/metrics`)).text();
  return metrics.split("\n").find((line) => line.startsWith("gastown_sidecar_info"));
}

function agentVersion(sidecar: RunningSidecar): Promise<string> {
  return until("the agent's version", 30_000, async () => (await sidecar.client.status({})).versions["agent"]);
}

it("Status and /metrics contain the sidecar's identity and its programs' versions", async () => {
  await using sidecar = await startSidecar({ flags: labels });
  expect(await agentVersion(sidecar)).toBe(version);
  const { versions } = await sidecar.client.status({});
  const its = `version="${version}",tmux_version="${versions["tmux"]}",agent_version="${version}"`;
  const who = 'session="s-1",project="a \\"b\\" \\\\ c",address="test/polecats/demo",provider="demo"';
  expect(await info(sidecar)).toBe(`gastown_sidecar_info{${who},${its}} 1`);
});

it("a program with the agent's name is asked for its version once, and readiness does not wait for the answer", async () => {
  await using sidecar = await startSidecar((dir) => {
    const program = join(dir, "claude");
    const script = `#!/bin/sh\ncase "$1" in --version) echo asked >> ${dir}/asked;; esac\nexec sleep 1000\n`;
    writeFileSync(program, script, { mode: 0o755 });
    return { agent: "claude", command: [program] };
  });
  const asked = () => readFileSync(join(sidecar.dir, "asked"), "utf8");
  await until("the request for the version", 30_000, async () => existsSync(join(sidecar.dir, "asked")) || undefined);
  await expect.poll(async () => (await fetch(`${sidecar.healthUrl}/readyz`)).status, { timeout: 60_000 }).toBe(200);
  expect((await sidecar.client.status({})).versions).not.toHaveProperty("agent");
  process.kill(sidecar.servingPid(), "SIGKILL");
  await expect.poll(() => sidecar.client.status({}).catch(() => undefined), { timeout: 60_000 }).toBeDefined();
  expect(asked()).toBe("asked\n");
});
