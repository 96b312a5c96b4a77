// Serves GetSession over mTLS with Connect and a constant answer, as the minimal cost of the call. Prints its port.
//
//     constant-bridge.ts TLS-DIR
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { runMain } from "../../internal/cli/run-main.ts";
import { BridgeService, SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";

await runMain({ name: "constant-bridge" }, async ({ argv, stdout, signal }) => {
  const [cert, key, ca] = ["tls.crt", "tls.key", "ca.crt"].map((name) => readFileSync(join(argv[0] ?? "", name)));
  const tls = { cert, key, ca, requestCert: true, rejectUnauthorized: true };
  const answer = { sessionId: "copy-0000", projectId: "shop", provider: "demo", status: SessionStatus.STARTING };
  const routes = connectNodeAdapter({
    routes: (router) => router.service(BridgeService, { getSession: () => answer }),
  });
  const server = createSecureServer(tls as object, routes);
  await once(server.listen(0, "127.0.0.1"), "listening");
  stdout.write(`${(server.address() as AddressInfo).port}\n`);
  await once(signal, "abort");
  server.close();
  return 0;
});
