import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { credentials, loadPackageDefinition, Metadata, type ServiceClientConstructor, status } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { execa } from "execa";
import { SignJWT } from "jose";
import { afterAll, beforeAll, expect, it } from "vitest";
import { BridgeFolder, type RunningBridge } from "../support/bridge/bridge-folder.ts";
import { requireGrpcPython } from "../support/bridge/python-grpc.ts";

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

let folder: BridgeFolder;
let bridge: RunningBridge;
beforeAll(async () => {
  folder = await BridgeFolder.create();
  bridge = await folder.start();
});
afterAll(() => folder[Symbol.asyncDispose]());

interface Event {
  readonly seq: string;
  readonly type: string;
  readonly done: boolean;
}
type Unary = (request: object, metadata: Metadata, done: (err: object | null, answer: object) => void) => void;
interface GrpcBridge extends Record<"StartSession" | "SendInput" | "StopSession" | "GetSession", Unary> {
  StreamEvents(request: object, metadata: Metadata): AsyncIterable<Event>;
  close(): void;
}

function grpcJs(): GrpcBridge {
  const { ca, prd } = folder;
  const definition = loadPackageDefinition(
    loadSync(["bridge/v1/bridge.proto"], { includeDirs: [at("proto")], longs: String, enums: String, keepCase: true }),
  ) as unknown as { bridge: { v1: { BridgeService: ServiceClientConstructor } } };
  const own = [ca.pem, prd.tls.key, prd.tls.cert].map((pem) => Buffer.from(pem)) as [Buffer, Buffer, Buffer];
  const address = `127.0.0.1:${bridge.port}`;
  return new definition.bridge.v1.BridgeService(address, credentials.createSsl(...own)) as unknown as GrpcBridge;
}

async function joseToken(): Promise<Metadata> {
  const { name, keys } = folder.prd;
  const token = await new SignJWT({ project_id: name })
    .setProtectedHeader({ alg: "EdDSA" })
    .setIssuer(name)
    .setSubject("grpc-js")
    .setAudience("bridge")
    .setIssuedAt()
    .setExpirationTime("2m")
    .sign(keys.privateKey);
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  return metadata;
}

it("grpc-js with the plain .proto files and tokens by jose runs a whole session", async () => {
  const client = grpcJs();
  try {
    const metadata = await joseToken();
    const call = (
      method: "StartSession" | "SendInput" | "StopSession" | "GetSession",
      request: object,
      by = metadata,
    ) => new Promise<object>((resolve) => client[method](request, by, (err, answer) => resolve(err ?? answer)));
    const session_id = "grpc-js";
    const start = { project_id: folder.prd.name, session_id, repo_path: folder.path("repos/one"), provider: "demo" };
    expect(await call("StartSession", start)).toMatchObject({ session_id });
    expect(await call("SendInput", { session_id, text: "hello" })).toMatchObject({
      accepted: true,
      outcome: "NUDGE_OUTCOME_SUBMITTED",
    });
    const events: Event[] = [];
    for await (const event of client.StreamEvents({ session_id, subscriber_id: "s" }, metadata)) {
      events.push(event);
      if (event.type === "STDOUT") await call("StopSession", { session_id });
    }
    expect(events.map(({ seq }) => Number(seq))).toEqual(events.map((_, index) => index + 1));
    expect(events[0]?.type).toBe("SESSION_STARTED");
    expect(events.at(-1)).toMatchObject({ type: "SESSION_STOPPED", done: true });
    expect(await call("GetSession", { session_id }, new Metadata())).toMatchObject({ code: status.UNAUTHENTICATED });
    expect(await call("GetSession", { session_id: "nobody" })).toMatchObject({ code: status.NOT_FOUND });
  } finally {
    client.close();
  }
});

it("Python's gRPC with the plain .proto files and tokens by PyJWT runs a whole session", {
  timeout: 120_000,
}, async (context) => {
  const python = await requireGrpcPython(context, "jwt", "google.protobuf");
  const { prd } = folder;
  const descriptors = folder.path("descriptors.binpb");
  await execa(at("node_modules/.bin/buf"), ["build", at("proto"), "--as-file-descriptor-set", "-o", descriptors]);
  const own = await folder.consumerFolder(prd);
  const file = (name: string) => join(own, name);
  const { stdout } = await execa(python, [
    ...[at("test/fakes/bridge-client.py"), `127.0.0.1:${bridge.port}`],
    ...[file("ca.crt"), file("tls.crt"), file("tls.key"), descriptors],
    ...[file("jwt-signing.key"), prd.name, folder.path("repos/one")],
  ]);
  expect(JSON.parse(stdout)).toEqual({
    ...{ session: "python", accepted: true, first: 1, has_output: true, done: true },
    ...{ no_token: "UNAUTHENTICATED", unknown: "NOT_FOUND" },
  });
});
