import { readFileSync } from "node:fs";
import { type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { mintToken, signingKeyOf } from "../../../internal/auth/mint-token.ts";
import type { Clock } from "../../../internal/base/clock.ts";
import { BridgeService } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import { sidecarTransport } from "../../../internal/rpc/client/transport.ts";
import { CALLER, type TourFiles } from "./throwaway-trust.ts";

export interface TourClient extends Disposable {
  readonly client: Client<typeof BridgeService>;
}

/** A caller with a certificate, and a new token for each call. */
export function tourClient(clock: Clock, url: string, files: TourFiles): TourClient {
  const read = (path: string) => readFileSync(path, "utf8");
  const key = signingKeyOf(read(files.tokenKey), files.tokenKey);
  const authorize: Interceptor = (next) => (request) => {
    const claims = { issuer: CALLER, subject: "npm-start", project: CALLER, audience: "bridge", ttlMs: 300_000 };
    request.header.set("authorization", `Bearer ${mintToken(key, claims, clock.now())}`);
    return next(request);
  };
  const tls = { ca: read(files.ca), cert: read(files.cert), key: read(files.key) };
  const connection = sidecarTransport({ baseUrl: url, tls, interceptors: [authorize] });
  return {
    client: createClient(BridgeService, connection.transport),
    [Symbol.dispose]: () => connection[Symbol.dispose](),
  };
}
