import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  loadPackageDefinition,
  Metadata,
  Server,
  ServerCredentials,
  type ServerWritableStream,
  type ServiceClientConstructor,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import type { TlsMaterial } from "../../internal/rpc/common/tls.ts";

const proto = fileURLToPath(new URL("../../proto/", import.meta.url));

/** StreamEvents in the usual style of grpc-js: each event is written to each call. */
export async function grpcEvents({ cert, key, ca }: TlsMaterial) {
  const definition = loadPackageDefinition(
    loadSync(["bridge/v1/bridge.proto"], { includeDirs: [proto], longs: Number, enums: String, keepCase: true }),
  ) as unknown as { bridge: { v1: { BridgeService: ServiceClientConstructor } } };
  const calls = new Set<ServerWritableStream<object, object>>();
  const server = new Server();
  server.addService(definition.bridge.v1.BridgeService.service, {
    StreamEvents(call: ServerWritableStream<object, object>) {
      calls.add(call);
      call.on("cancelled", () => calls.delete(call));
      call.sendMetadata(new Metadata());
    },
  });
  const [certChain, privateKey] = [Buffer.from(cert), Buffer.from(key)];
  const credentials = ServerCredentials.createSsl(
    Buffer.from(ca),
    [{ cert_chain: certChain, private_key: privateKey }],
    true,
  );
  const port = await promisify(server.bindAsync.bind(server))("127.0.0.1:0", credentials);
  let seq = 0;
  return {
    port,
    write: (text: string) => {
      const at = Date.now();
      const timestamp = { seconds: Math.floor(at / 1000), nanos: (at % 1000) * 1_000_000 };
      const event = {
        seq: ++seq,
        timestamp,
        session_id: "bench",
        project_id: "p",
        provider: "scripted",
        type: 10,
        text,
      };
      for (const call of calls) call.write(event);
    },
    close: () => server.forceShutdown(),
  };
}
