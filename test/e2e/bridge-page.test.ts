import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { CaSandbox } from "../support/bridge/bridge-ca.ts";
import { freePort } from "../support/bridge/free-port.ts";
import { until } from "../support/sidecar/sidecar.ts";

const root = join(import.meta.dirname, "../..");

it("docs/bridge.md runs unchanged: two consumers with their own CAs, each with its own session s1", async () => {
  await using sandbox = await CaSandbox.create();
  await sandbox.install("bridge", "gt");
  const page = await readFile(join(root, "docs/bridge.md"), "utf8");
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block);
  expect(blocks).toHaveLength(4);
  const port = await freePort();
  const script = blocks
    .join("\n")
    .replace('listen: "127.0.0.1:9445"', `listen: "127.0.0.1:${port}"\n  health_listen: "127.0.0.1:0"`)
    .replaceAll("localhost:9445", `localhost:${port}`);
  const { stdout, stderr, code } = await sandbox.sh(`${script}\nkill $!\nwait $! || echo "the bridge ended with $?"`);
  const log = await readFile(sandbox.path("ai-agent-bridge/bridge.log"), "utf8");
  expect(code, `${stdout}${stderr}${log}`).toBe(0);
  expect(stdout).toContain("bridge.yaml: ok");
  const warnings = stderr.split("\n").filter((line) => line.includes("warning"));
  expect(warnings).toEqual([expect.stringContaining("projects: has no run_as")]);
  const answers = stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as object);
  expect(answers).toMatchObject([
    { sessionId: "s1", status: "RUNNING" },
    { sessionId: "s1", status: "RUNNING" },
    { accepted: true, outcome: "NUDGE_OUTCOME_SUBMITTED" },
    { sessions: [{ sessionId: "s1", projectId: "ndara-orchestrator" }] },
    { status: expect.stringMatching(/STOPP/) },
  ]);
  expect(stdout).not.toContain("the bridge ended with");
});

it("the commands that docs/bridge.md defines run a clone's programs from any folder", async () => {
  await using sandbox = await CaSandbox.create();
  const page = await readFile(join(root, "docs/bridge.md"), "utf8");
  const [, block = ""] = /^```bash\n(.*?)^```$/ms.exec(page) ?? [];
  const versions = "bridge --version; bridge-ca --version; gt --version";
  const said = await sandbox.ok(`bash -e <<'EOF'\n${block.replace("~/gastown-terminal", root)}${versions}\nEOF\n`);
  expect(said).toMatch(/^bridge \S+\nbridge-ca \S+\ngt \S+\n$/);
});

it("npm start -- --bridge --once shows a bridge without an account or certificates", async () => {
  await using sandbox = await CaSandbox.create();
  const launch = [join(root, "scripts/launch.mjs"), "scripts/start/main.ts", "--bridge", "--once"];
  const env = { ...sandbox.env, TMPDIR: sandbox.dir };
  const { stdout } = await promisify(execFile)(process.execPath, launch, { cwd: root, env });
  expect(stdout).toContain("NUDGE_RECEIPT    SUBMITTED");
  expect(stdout).toContain("all as expected");
  expect(await sandbox.ok("ls -d gt-bridge-* 2>/dev/null || true")).toBe("");
});

it("npm start -- --bridge prints gt commands that run unchanged in any folder", { timeout: 300_000 }, async () => {
  await using sandbox = await CaSandbox.create();
  const launch = [join(root, "scripts/launch.mjs"), "scripts/start/main.ts", "--bridge"];
  const env = { ...sandbox.env, TMPDIR: sandbox.dir };
  const tour = spawn(process.execPath, launch, { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
  const gone = once(tour, "close");
  try {
    let printed = "";
    tour.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
    const commands = await until("the commands", 240_000, () => {
      const found = [...printed.matchAll(/^ {2}(XDG_CONFIG_HOME=\S+ \S*gt (?:agents|nudge|peek).*)\n/gm)];
      return found.length === 3 ? found.map(([, command]) => command) : undefined;
    });
    const said = await promisify(execFile)("/bin/sh", ["-ec", commands.join("\n")], { cwd: "/", env });
    expect(said.stdout).toMatch(/^SESSION .*?\nhello-1 .*submitted to tour\/hello-1.*hello from gt/s);
  } finally {
    tour.kill("SIGTERM");
    await gone;
  }
});
