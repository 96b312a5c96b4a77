import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, it, type TestContext } from "vitest";
import { AgentDaemon, Event_Kind } from "../../../examples/orchestrator-agentd/gen/orch/v1/agent_daemon_pb.ts";
import { TestCa } from "../../support/bridge/certificates.ts";
import { exampleProgram, httpCall, kindsOfCancelledRun } from "../../support/bridge/example-program.ts";
import { until } from "../../support/sidecar/sidecar.ts";

const LIMIT_MS = 180_000;
const REPOSITORY = "/workspace/shop";

/** Access to the installed chart. */
interface Installed {
  here(context: TestContext): Promise<unknown>;
  /** A folder with the first client's files. */
  clientDir(): string;
  /** The local port that is forwarded to the controllers. */
  port(): number;
}

/** Tests that the two consumers of `examples/` work with a cluster as they do with a bridge. */
export function examples({ here, clientDir, port }: Installed): void {
  const config = () => ({
    ...{ project_id: "default", bridge_target: `127.0.0.1:${port()}` },
    ...{ bridge_ca: "ca.crt", bridge_cert: "tls.crt", bridge_key: "tls.key" },
    ...{ jwt_key: "jwt.key", jwt_issuer: "admin" },
  });

  it("serves the HTTP control plane of the examples: start, input, events in order, stop", {
    timeout: LIMIT_MS,
  }, async (context) => {
    await here(context);
    await using api = await exampleProgram("http-control-plane", clientDir(), config());
    const call = (method: string, path: string, body?: object) => httpCall(api.url, method, path, body);
    const start = { session_id: "h1", repo_path: REPOSITORY, provider: "demo" };
    expect(await call("POST", "/sessions", start)).toEqual({ status: 200, body: { session_id: "h1" } });
    const input = async () => {
      const { status, body } = await call("POST", "/sessions/h1/input", { text: "hello" });
      return status === 200 ? body : undefined;
    };
    expect(await until("the input to be taken", 60_000, input, api.output)).toEqual({ accepted: true, error: "" });
    expect((await call("GET", "/sessions/h1")).body).toMatchObject({ provider: "demo", error: "" });
    expect((await call("DELETE", "/sessions/h1")).status).toBe(200);
    // The API also forwards the events of earlier sessions.
    const own = () =>
      api
        .output()
        .split("\n")
        .filter((line) => line.startsWith('{"session":"h1",'));
    await until("the last event", 60_000, () => own().at(-1)?.includes('"done":true') || undefined, api.output);
    const events = own()
      .join("\n")
      .matchAll(/"seq":(\d+)/g);
    const seqs = [...events].map((event) => Number(event[1]));
    expect(seqs).toEqual(seqs.map((_, i) => i + 1));
  });

  it("serves the orchestrator daemon of the examples: a task, its events in the daemon's format, its end", {
    timeout: LIMIT_MS,
  }, async (context) => {
    await here(context);
    const orchestrator = new TestCa("orchestrator");
    const [server, caller] = [orchestrator.issue({ ips: ["127.0.0.1"] }), orchestrator.issue({ cn: "scheduler" })];
    const dir = join(clientDir(), "serving");
    await mkdir(dir);
    await writeFile(join(dir, "agentd.crt"), server.cert);
    await writeFile(join(dir, "agentd.key"), server.key);
    await writeFile(join(dir, "orchestrator.crt"), orchestrator.pem);
    await using agentd = await exampleProgram("orchestrator-agentd", clientDir(), {
      ...{ tls_cert: "serving/agentd.crt", tls_key: "serving/agentd.key", orchestrator_ca: "serving/orchestrator.crt" },
      ...config(),
    });
    const tls = { ca: orchestrator.pem, cert: caller.cert, key: caller.key };
    const client = createClient(AgentDaemon, createGrpcTransport({ baseUrl: agentd.url, nodeOptions: tls }));
    const task = { runId: "r1", repoPath: REPOSITORY, provider: "demo", task: "say hello" };
    const accepted = async () => (await client.runTask(task).catch(() => undefined))?.accepted || undefined;
    await until("the task to be taken", 60_000, accepted, agentd.output);
    const kinds = await kindsOfCancelledRun(client, "r1");
    expect(kinds[0]).toBe(Event_Kind.STARTED);
    expect(kinds).toEqual(expect.arrayContaining([Event_Kind.STATE, Event_Kind.OUTPUT]));
    expect(kinds.at(-1)).toBe(Event_Kind.FINISHED);
  });
}
