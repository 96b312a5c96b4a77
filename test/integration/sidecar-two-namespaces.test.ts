import { spawn } from "node:child_process";
import { readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createClient } from "@connectrpc/connect";
import { beforeEach, describe, expect, it } from "vitest";
import { AgentState } from "../../internal/gen/gastown/v1/common_pb.ts";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { firstProcessOf, PID_NAMESPACE, requirePidNamespace } from "../support/sidecar/pid-namespace.ts";
import { until } from "../support/sidecar/sidecar.ts";

const MAIN = fileURLToPath(new URL("../../cmd/gt-sidecar/main.ts", import.meta.url));
const STALL_AFTER_MS = 3000;

/**
 * The two halves as in the containers of a pod: the supervising half, tmux and the agent have pids of their own. The
 * agent reports that it works, prints nothing from then on, and runs `work`.
 */
async function twoHalves(work: string) {
  const dir = await mkdtemp(join(tmpdir(), "gt-test-"));
  const env = { PATH: process.env["PATH"], HOME: dir, LANG: "C.UTF-8", XDG_RUNTIME_DIR: dir };
  const agent = ["sh", "-c", `echo ready; sleep 0.3; echo activity >"$GT_HOOK_FIFO"; ${work}`];
  const common = ["--agent", "generic", "--state-dir", join(dir, "state"), "--workdir", dir];
  const flags = [...common, "--stall-after", `${STALL_AFTER_MS}ms`];
  let log = "";
  const start = (program: string, args: readonly string[]) => {
    const child = spawn(program, [...args, "--", ...agent], { stdio: ["ignore", "ignore", "pipe"], env });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      log += text;
    });
    return { child, exited: new Promise((resolve) => child.on("exit", resolve)) };
  };
  const [unshare, ...namespace] = PID_NAMESPACE;
  const supervise = [...namespace, process.execPath, MAIN, "supervise", ...flags, "--grace", "3s"];
  const supervising = start(unshare, supervise);
  const listen = ["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"];
  const serving = start(process.execPath, [MAIN, "serve", ...flags, ...listen]);
  const address = () => /"listen":"([^"]+)","pid":\d+,"msg":"serving"/.exec(log)?.[1];
  const at = await until("it to serve", 30_000, address, () => log);
  const connection = sidecarTransport({ baseUrl: `http://${at}` });
  const client = createClient(SidecarService, connection.transport);
  const state = async () => (await client.status({})).state;
  return {
    client,
    state,
    supervisorPid: firstProcessOf(supervising.child.pid ?? 0),
    untilState: (wanted: AgentState) =>
      until(
        `state ${wanted}`,
        30_000,
        async () => (await state()) === wanted || undefined,
        () => log,
      ),
    [Symbol.asyncDispose]: async () => {
      connection[Symbol.dispose]();
      serving.child.kill("SIGTERM");
      await serving.exited;
      supervising.child.kill("SIGKILL"); // and with it every process of its namespace
      await supervising.exited;
      await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

describe("an agent in another pid namespace than the serving half", () => {
  beforeEach(requirePidNamespace);

  it("is busy while it computes silently, as the half in its namespace sees", async () => {
    await using halves = await twoHalves("(while :; do :; done) & wait");
    await halves.untilState(AgentState.BUSY);
    const { agentPid } = await halves.client.status({});
    expect(readlinkSync(`/proc/${halves.supervisorPid}/ns/pid`)).not.toBe(readlinkSync("/proc/self/ns/pid"));
    expect(agentPid).toBeLessThan(1000); // the first ones of a new namespace
    for (let i = 0; i < 20; i++) {
      expect(await halves.state()).toBe(AgentState.BUSY);
      await sleep((1.5 * STALL_AFTER_MS) / 20);
    }
  });

  it("is stalled when it does nothing", async () => {
    await using halves = await twoHalves("exec sleep 600");
    await halves.untilState(AgentState.BUSY);
    await halves.untilState(AgentState.STALLED);
  });
});
