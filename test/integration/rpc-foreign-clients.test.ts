import { fileURLToPath } from "node:url";
import { credentials, loadPackageDefinition, type ServiceClientConstructor, status } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ASK, type RpcFixture, startRpcServer } from "../support/bridge/rpc-server.ts";
import { requireComponent } from "../support/cluster/components.ts";

const proto = fileURLToPath(new URL("../../proto/", import.meta.url));

let fixture: RpcFixture;
beforeAll(async () => {
  fixture = await startRpcServer();
});
afterAll(() => fixture[Symbol.asyncDispose]());

describe("grpc-js with the plain .proto files", () => {
  type Unary = (request: object, done: (err: GrpcFailure | null, answer: Record<string, unknown>) => void) => void;
  interface GrpcFailure {
    readonly code: number;
    readonly details: string;
  }
  interface Sidecar extends Record<"Peek" | "Nudge", Unary> {
    WatchOutput(request: object): AsyncIterable<{ readonly output: string }> & { cancel(): void };
    close(): void;
  }

  function connect(): Sidecar {
    const files = ["gastown/v1/sidecar.proto", "gastown/v1/terminal.proto"];
    const definition = loadPackageDefinition(
      loadSync(files, { includeDirs: [proto], longs: String, enums: String, keepCase: true }),
    );
    const gastown = definition["gastown"] as unknown as { v1: { SidecarService: ServiceClientConstructor } };
    const address = `127.0.0.1:${fixture.port}`;
    return new gastown.v1.SidecarService(address, credentials.createInsecure()) as unknown as Sidecar;
  }

  async function using<T>(use: (client: Sidecar) => Promise<T>): Promise<T> {
    const client = connect();
    try {
      return await use(client);
    } finally {
      client.close();
    }
  }

  it("makes calls and gets enums and 64-bit numbers", async () => {
    const [peeked, nudged] = await using((client) =>
      Promise.all([
        new Promise((resolve, reject) =>
          client.Peek({ lines: 2 }, (err, answer) => (err ? reject(err) : resolve(answer))),
        ),
        new Promise((resolve, reject) =>
          client.Nudge({ message: "ü" }, (err, answer) => (err ? reject(err) : resolve(answer))),
        ),
      ]),
    );
    expect(peeked).toMatchObject({ output: "line\nline\n", offset: String(2n ** 60n) });
    expect(nudged).toMatchObject({ outcome: "NUDGE_OUTCOME_SUBMITTED", delivered_text: "ü" });
  });

  it("gets a failure's code and message", async () => {
    const err = await using(
      (client) => new Promise((resolve) => client.Peek({ lines: ASK.notFound }, (failure) => resolve(failure))),
    );
    expect(err).toMatchObject({ code: status.NOT_FOUND, details: 'no session "x"' });
  });

  it("reads a stream, and gets the code of a failure after the first message", async () => {
    await using(async (client) => {
      const got: string[] = [];
      for await (const { output } of client.WatchOutput({ lines: 300 })) got.push(output);
      expect(got).toHaveLength(300);
      const failing = async () => {
        for await (const { output } of client.WatchOutput({ lines: ASK.failLate })) got.push(output);
      };
      await expect(failing()).rejects.toMatchObject({
        code: status.FAILED_PRECONDITION,
        details: "the epoch is stale",
      });
    });
  });

  it("frees the handler when it cancels", async () => {
    await using(async (client) => {
      const call = client.WatchOutput({ lines: ASK.wait });
      for await (const _ of call) break;
      call.cancel();
      await expect.poll(() => fixture.open()).toBe(0);
    });
  });
});

describe("curl with Connect JSON", () => {
  it.for(["--http1.1", "--http2-prior-knowledge"])(
    "%s: it makes a call and shows a failure's details",
    async (version, context) => {
      const curl = await requireComponent(context, "curl");
      const call = async (body: string) => {
        const url = `${fixture.url}/gastown.v1.SidecarService/Peek`;
        const { stdout } = await execa(curl, ["-sS", version, "-H", "content-type: application/json", "-d", body, url]);
        return JSON.parse(stdout);
      };
      expect(await call('{"lines": 1}')).toMatchObject({ output: "line\n", sessionAlive: true });
      const failure = await call(`{"lines": ${ASK.notFound}}`);
      expect(failure).toMatchObject({ code: "not_found", message: 'no session "x"' });
      expect(failure.details[0].type).toBe("google.rpc.ErrorInfo");
    },
  );
});

describe("grpcurl by reflection", () => {
  const grpcurl = async (program: string, ...args: string[]) => (await execa(program, ["-plaintext", ...args])).stdout;

  it("lists, describes and calls methods", async (context) => {
    const program = await requireComponent(context, "grpcurl");
    const address = `127.0.0.1:${fixture.port}`;
    const services = (await grpcurl(program, address, "list")).trim().split("\n");
    expect(services).toEqual(expect.arrayContaining(["gastown.v1.SidecarService", "grpc.health.v1.Health"]));
    expect(await grpcurl(program, address, "describe", "gastown.v1.SidecarEvent")).toContain(
      ".gastown.v1.Dialog dialog = 16",
    );
    const answer = await grpcurl(program, "-d", '{"lines": 1}', address, "gastown.v1.SidecarService/Peek");
    expect(JSON.parse(answer)).toMatchObject({ output: "line\n", offset: String(2n ** 60n) });
  });

  it("checks health, and shows a failure's details as text", async (context) => {
    const program = await requireComponent(context, "grpcurl");
    const address = `127.0.0.1:${fixture.port}`;
    expect(JSON.parse(await grpcurl(program, address, "grpc.health.v1.Health/Check"))).toEqual({ status: "SERVING" });
    const failed = grpcurl(program, "-d", `{"lines": ${ASK.notFound}}`, address, "gastown.v1.SidecarService/Peek");
    const { stderr } = await failed.then(
      () => ({ stderr: "" }),
      (err: { readonly stderr: string }) => err,
    );
    expect(stderr).toMatch(/Code: NotFound\n.*Message: no session "x"/);
  });
});
