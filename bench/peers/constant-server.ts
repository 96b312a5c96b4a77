// Serves a Connect handler with a constant answer as large as a peek's, as the minimal cost of a call. Prints its port.
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { runMain } from "../../internal/cli/run-main.ts";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";

const LINE = "000400 the quick brown fox jumps over the lazy dog, many times";

await runMain({ name: "constant-server" }, async ({ argv, stdout, signal }) => {
  const output = Array.from({ length: Number(argv[0]) }, () => LINE).join("\n");
  const answer = {
    output,
    sessionAlive: true,
    cols: 160,
    rows: 50,
    cursorY: 49,
    historyLines: 350,
    epoch: "e".repeat(36),
  };
  const server = createServer(
    connectNodeAdapter({ routes: (router) => router.service(SidecarService, { peek: () => answer }) }),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stdout.write(`${(server.address() as AddressInfo).port}\n`);
  await once(signal, "abort");
  server.close();
  return 0;
});
