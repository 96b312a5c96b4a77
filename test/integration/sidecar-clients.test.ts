import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { credentials, loadPackageDefinition, type ServiceClientConstructor } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentState } from "../../internal/gen/gastown/v1/common_pb.ts";
import { requireComponent } from "../support/cluster/components.ts";
import { type RunningSidecar, startSidecar } from "../support/sidecar/sidecar.ts";

const proto = fileURLToPath(new URL("../../proto/", import.meta.url));

/** Programs that were not written for this service, each with a message of its own. */
describe("foreign clients of a running sidecar", () => {
  let sidecar: RunningSidecar;
  beforeAll(async () => {
    sidecar = await startSidecar();
    await sidecar.untilState(AgentState.IDLE);
  });
  afterAll(() => sidecar[Symbol.asyncDispose]());

  it("may be grpc-js with the plain .proto files, for nudge, status, peek and watch", async () => {
    const files = ["gastown/v1/sidecar.proto"];
    const options = { includeDirs: [proto], longs: String, enums: String, keepCase: true };
    const { gastown } = loadPackageDefinition(loadSync(files, options)) as unknown as {
      gastown: { v1: { SidecarService: ServiceClientConstructor } };
    };
    const client = new gastown.v1.SidecarService(`127.0.0.1:${sidecar.port}`, credentials.createInsecure());
    type Call = (request: object, done: (err: Error | null, answer: unknown) => void) => void;
    const call = (name: string, request: object) => promisify((client[name] as unknown as Call).bind(client))(request);
    try {
      expect(await call("Nudge", { message: "from grpc-js" })).toMatchObject({ outcome: "NUDGE_OUTCOME_SUBMITTED" });
      expect(await call("Status", {})).toMatchObject({ session_alive: true, agent: "test/polecats/demo" });
      expect(await call("Peek", { lines: 30 })).toMatchObject({ output: expect.stringContaining("from grpc-js") });
      const watching = (
        client["WatchOutput"] as unknown as (r: object) => AsyncIterable<object> & { cancel(): void }
      ).bind(client)({ lines: 5 });
      for await (const update of watching) {
        expect(update).toMatchObject({ kind: "UPDATE_KIND_SNAPSHOT", session_alive: true });
        break;
      }
      watching.cancel();
    } finally {
      client.close();
    }
    expect(await sidecar.taken()).toContain("from grpc-js");
  });

  it.for(["--http1.1", "--http2-prior-knowledge"])(
    "may be curl with Connect JSON over %s",
    async (version, context) => {
      const curl = await requireComponent(context, "curl");
      const call = async (method: string, body: object) => {
        const url = `${sidecar.url}/gastown.v1.${method}`;
        const args = ["-sS", version, "-H", "content-type: application/json", "-d", JSON.stringify(body), url];
        return JSON.parse((await execa(curl, args)).stdout);
      };
      const message = `from curl ${version}`;
      expect(await call("SidecarService/Nudge", { message })).toMatchObject({ delivered: true });
      expect(await call("TerminalService/SendInput", { input: `${message} again`, nudge: true })).toEqual({
        delivered: true,
      });
      expect(await sidecar.taken()).toEqual(expect.arrayContaining([message, `${message} again`]));
    },
  );

  it("may be grpcurl with reflection", async (context) => {
    const grpcurl = await requireComponent(context, "grpcurl");
    const address = `127.0.0.1:${sidecar.port}`;
    const call = async (...args: string[]) => (await execa(grpcurl, ["-plaintext", ...args])).stdout;
    expect(await call(address, "list")).toContain("gastown.v1.SidecarService");
    const receipt = await call("-d", '{"message": "from grpcurl"}', address, "gastown.v1.SidecarService/Nudge");
    expect(JSON.parse(receipt)).toMatchObject({ delivered: true, outcome: "NUDGE_OUTCOME_SUBMITTED" });
    expect(await sidecar.taken()).toContain("from grpcurl");
  });

  it("may be a probe at the health port", async () => {
    expect(await (await fetch(`${sidecar.healthUrl}/livez`)).text()).toBe("ok\n");
    expect((await fetch(`${sidecar.healthUrl}/readyz`)).status).toBe(200);
    const metrics = await (await fetch(`${sidecar.healthUrl}/metrics`)).text();
    expect(metrics).toMatch(/^gastown_nudges_ended_total\{outcome="submitted"\} [1-9]/m);
    expect(metrics).toMatch(/^gastown_agent_alive 1$/m);
    expect(metrics).not.toContain("from grpc-js");
  });
});
