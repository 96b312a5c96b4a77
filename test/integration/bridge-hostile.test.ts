import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { markedProcesses } from "../../internal/process/marked-processes.ts";
import { BridgeFolder, type RunningBridge } from "../support/bridge/bridge-folder.ts";
import { until } from "../support/sidecar/sidecar.ts";

const fake = (name: string) => fileURLToPath(new URL(`../fakes/${name}`, import.meta.url));
const { STOPPED, FAILED, RUNNING } = SessionStatus;
const MAX = 14;

let folder: BridgeFolder;
let bridge: RunningBridge;
const sections = {
  providers: { demo: { binary: "", args: [] as string[], startup_timeout: "30s" } },
  sessions: { stop_grace_period: "1s", max_per_project: MAX },
  limits: { starts_per_minute: 10_000 },
  audit: { path: "audit.jsonl" },
};
beforeAll(async () => {
  folder = await BridgeFolder.create();
  // The name of an agent's working folder selects its misbehaviour.
  const node = `${process.execPath} --disable-warning=ExperimentalWarning`;
  const script = `#!/bin/sh\nexec ${node} ${fake("hostile-agent-main.ts")} "$(basename "$PWD")" "$@"\n`;
  writeFileSync(folder.path("agent"), script, { mode: 0o700 });
  const reporter = { NODE_OPTIONS: `--import=${fake("turn-reporter-main.ts")}`, TURN_FILE: folder.path("turn") };
  sections.providers.demo.binary = folder.path("agent");
  bridge = await folder.start(sections, reporter);
});
afterAll(() => folder[Symbol.asyncDispose]());

const client = () => folder.client(bridge, folder.prd);
/** The programs of sessions: they inherit the bridge's HOME. */
const agents = () => markedProcesses("HOME", folder.dir).filter((pid) => pid !== bridge.process.pid);

async function start(way: string, sessionId = way, by = client()) {
  mkdirSync(folder.path("repos", way), { recursive: true });
  const repoPath = folder.path("repos", way);
  return by.startSession({ projectId: "prd-manager", sessionId, provider: "demo", repoPath });
}

async function untilStatus(sessionId: string, ...wanted: readonly SessionStatus[]) {
  const look = async () => {
    const session = await client().getSession({ sessionId });
    return wanted.includes(session.status) ? session : undefined;
  };
  return until(`${sessionId} to be ${wanted.join(" or ")}`, 180_000, look, bridge.log);
}

/** Runs an agent that misbehaves once it gets a message, and stops it if it does not end. */
async function misbehaves(way: string): Promise<SessionStatus> {
  await start(way);
  await untilStatus(way, RUNNING);
  void client()
    .sendInput({ sessionId: way, text: "go" })
    .catch(() => {});
  if (!way.startsWith("dies") && way !== "forks-and-exits") {
    const told = async () => ((await client().getSession({ sessionId: way })).lastSeq > 2n ? true : undefined);
    await until(`${way} to begin`, 30_000, told, bridge.log);
    await client().stopSession({ sessionId: way });
  }
  return (await untilStatus(way, STOPPED, FAILED)).status;
}

it("the bridge is not held up by misbehaving agents, and leaves nothing of them behind", {
  timeout: 240_000,
}, async () => {
  bridge.process.kill("SIGUSR2");
  const failing = ["exits-at-once", "hangs-at-start"].map(async (way) => {
    await start(way).catch(() => {});
    return (await untilStatus(way, FAILED)).error;
  });
  const ways = ["ignores-term", "floods", "long-line", "forks", "daemonises", "forks-and-exits", "dies-in-mid-line"];
  const ended = await Promise.all(ways.map(misbehaves));
  expect(ended).toEqual([...ways.slice(0, -1).map(() => STOPPED), FAILED]);
  expect(await Promise.all(failing)).toEqual([
    "the agent ended with code 3 before it accepted messages: no licence for [redacted]",
    expect.stringContaining("30000 ms"),
  ]);
  await until("nothing of them to live", 120_000, () => agents().length === 0 || undefined);
  bridge.process.kill("SIGUSR2");
  const turn = await until("its longest turn", 120_000, () => readTurn() || undefined);
  expect(turn).toBeLessThan(100);
});

const readTurn = () => {
  try {
    return Number(readFileSync(folder.path("turn"), "utf8"));
  } catch {
    return 0;
  }
};

it("the bridge keeps its limits under 500 concurrent starts, and reports every session after kill -9", {
  timeout: 240_000,
}, async () => {
  // Fourteen programs that start together take long: none may fail and make room for another.
  bridge.process.kill("SIGTERM");
  await bridge.exited;
  bridge = await folder.start({
    ...sections,
    providers: { demo: { ...sections.providers.demo, startup_timeout: "180s" } },
  });
  const ids = Array.from({ length: 500 }, (_, i) => `many-${i}`);
  // Few connections: the handshakes of 500 take a busy machine longer than a caller waits for one.
  const callers = Array.from({ length: 20 }, client);
  const codes = await Promise.all(
    ids.map((id, i) =>
      start("idle", id, callers[i % callers.length]).then(
        () => 0,
        (err: { readonly code: number }) => err.code,
      ),
    ),
  );
  expect(codes.filter((code) => code === 0)).toHaveLength(MAX);
  expect(new Set(codes)).toEqual(new Set([0, 8]));
  const started = ids.filter((_, i) => codes[i] === 0);
  for (const id of started) await untilStatus(id, RUNNING);
  bridge.process.kill("SIGKILL");
  await bridge.exited;
  await until("no agent to live", 30_000, () => agents().length === 0 || undefined);
  bridge = await folder.start(folder.path("bridge.yaml"));
  const { sessions } = await client().listSessions({ pageSize: 1000 });
  expect(sessions.map(({ sessionId }) => sessionId).toSorted()).toEqual(started.toSorted());
  for (const id of started) await untilStatus(id, FAILED);
});
