import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentDaemon, Event_Kind } from "../../examples/orchestrator-agentd/gen/orch/v1/agent_daemon_pb.ts";
import { BridgeFolder, type Consumer, type RunningBridge } from "../support/bridge/bridge-folder.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import {
  type ExampleProgram,
  exampleProgram,
  httpCall,
  kindsOfCancelledRun,
} from "../support/bridge/example-program.ts";
import { until } from "../support/sidecar/sidecar.ts";

let folder: BridgeFolder;
let bridge: RunningBridge;
beforeAll(async () => {
  folder = await BridgeFolder.create();
  bridge = await folder.start();
});
afterAll(() => folder[Symbol.asyncDispose]());

/** Runs an example with a configuration in the consumer's folder. */
async function run(
  name: Parameters<typeof exampleProgram>[0],
  by: Consumer,
  config: Readonly<Record<string, string>>,
): Promise<ExampleProgram> {
  return await exampleProgram(name, await folder.consumerFolder(by), {
    ...{ project_id: by.name, bridge_target: `127.0.0.1:${bridge.port}` },
    ...{ bridge_ca: "ca.crt", bridge_cert: "tls.crt", bridge_key: "tls.key" },
    ...{ jwt_key: "jwt-signing.key", jwt_issuer: by.name },
    ...config,
  });
}

describe("the HTTP control plane", () => {
  it("starts an agent, sends it input, forwards its events, and stops it", async () => {
    await using api = await run("http-control-plane", folder.prd, {});
    const call = (method: string, path: string, body?: object | null) => httpCall(api.url, method, path, body);
    const start = { session_id: "h1", repo_path: folder.path("repos/one"), provider: "demo" };
    expect(await call("POST", "/sessions", start)).toEqual({ status: 200, body: { session_id: "h1" } });
    const input = async () => {
      const { status, body } = await call("POST", "/sessions/h1/input", { text: "hello" });
      return status === 200 ? body : undefined;
    };
    expect(await until("the input to be taken", 30_000, input, api.output)).toEqual({ accepted: true, error: "" });
    expect((await call("GET", "/sessions/h1")).body).toMatchObject({ provider: "demo", error: "" });
    expect((await call("POST", "/sessions", start)).status).toBe(200); // again: its events still come once
    expect((await call("DELETE", "/sessions/h1")).status).toBe(200);
    await until("the last event", 30_000, () => api.output().includes('"done":true') || undefined, api.output);
    const events = api
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{"));
    const seqs = events.map((line) => (JSON.parse(line) as { seq: number }).seq);
    expect(seqs).toEqual(seqs.map((_, i) => i + 1));
    expect(await call("GET", "/sessions/none")).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect(await call("POST", "/sessions", { provider: "demo" })).toMatchObject({ status: 400 });
    for (const wrong of [null, [5], { ...start, session_id: 5 }])
      expect(await call("POST", "/sessions", wrong)).toMatchObject({ status: 400 });
    expect(await call("POST", "/sessions", { ...start, session_id: "h2", repo_path: "/etc" })).toMatchObject({
      status: 403,
    });
  });
});

describe("the orchestrator's agent daemon", () => {
  it("runs a task as a session, streams it in the daemon's own format, and cancels it", async () => {
    const orchestrator = new TestCa("orchestrator");
    const [server, caller] = [orchestrator.issue({ ips: ["127.0.0.1"] }), orchestrator.issue({ cn: "scheduler" })];
    const dir = join(await folder.consumerFolder(folder.ndara), "serving");
    await mkdir(dir, { recursive: true });
    await writeFile(join(dir, "agentd.crt"), server.cert);
    await writeFile(join(dir, "agentd.key"), server.key);
    await writeFile(join(dir, "orchestrator.crt"), orchestrator.pem);
    await using agentd = await run("orchestrator-agentd", folder.ndara, {
      ...{ tls_cert: "serving/agentd.crt", tls_key: "serving/agentd.key", orchestrator_ca: "serving/orchestrator.crt" },
    });
    const transport = (tls: object) =>
      createGrpcTransport({ baseUrl: agentd.url, nodeOptions: { ca: orchestrator.pem, ...tls } });
    const client = createClient(AgentDaemon, transport({ cert: caller.cert, key: caller.key }));
    const task = { runId: "r1", repoPath: folder.path("repos/one"), provider: "demo", task: "say hello" };
    const accepted = async () => ((await client.runTask(task)).accepted ? true : undefined);
    await until("the task to be taken", 30_000, accepted, agentd.output);
    const kinds = await kindsOfCancelledRun(client, "r1");
    expect(kinds[0]).toBe(Event_Kind.STARTED);
    expect(kinds).toContain(Event_Kind.STATE);
    expect(kinds.at(-1)).toBe(Event_Kind.FINISHED);
    await expect(client.cancelRun({ runId: "none" })).rejects.toThrow("not_found");
    // The bridge's other consumer is rejected: this daemon trusts only the orchestrator's CA.
    const { cert, key } = folder.prd.tls;
    await expect(createClient(AgentDaemon, transport({ cert, key })).cancelRun({ runId: "r1" })).rejects.toThrow();
  });
});
