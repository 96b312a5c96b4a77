// A server for Connect's conformance suite: our own listener, adapter, interceptors and gates under its service. Reads
// its settings from stdin, writes its address to stdout (each prefixed by its length), and ends on SIGTERM.
import { buffer } from "node:stream/consumers";
import { create, createRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import { systemClock } from "../../internal/base/clock.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { Metrics } from "../../internal/rpc/server/metrics.ts";
import { RpcServer, type RpcServerOptions } from "../../internal/rpc/server/server.ts";
import {
  ConformanceService,
  file_conformance,
  ServerCompatRequestSchema,
  ServerCompatResponseSchema,
} from "./gen/conformance_pb.ts";
import { conformanceService } from "./service.ts";

const LENGTH_BYTES = 4;
const types = createRegistry(file_conformance);

const { useTls, serverCreds, clientTlsCert, messageReceiveLimit } = fromBinary(
  ServerCompatRequestSchema,
  (await buffer(process.stdin)).subarray(LENGTH_BYTES),
);
const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString();
const options: RpcServerOptions = {
  host: "127.0.0.1",
  port: 0,
  // The suite packs messages into one another; in JSON that needs their types.
  routes: (router) => router.service(ConformanceService, conformanceService, { jsonOptions: { registry: types } }),
  graceMs: 100,
  describesErrors: false, // the suite counts details
  readMaxBytes: messageReceiveLimit > 0 ? messageReceiveLimit : undefined,
  ...(useTls
    ? { tls: { cert: text(serverCreds?.cert), key: text(serverCreds?.key), ca: text(clientTlsCert) } }
    : { hostCheck: { allowHosts: [] } }),
};
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
const deps = { clock: systemClock, logger: createLogger("conformance", "warn"), metrics: new Metrics() };
const server = new RpcServer(deps, options);
const running = server.run(stop.signal);
const { host, port } = await server.listening;
const pemCert = serverCreds?.cert ?? new Uint8Array();
const answer = toBinary(ServerCompatResponseSchema, create(ServerCompatResponseSchema, { host, port, pemCert }));
const length = Buffer.alloc(LENGTH_BYTES);
length.writeUInt32BE(answer.length);
process.stdout.write(Buffer.concat([length, answer]));
await running;
