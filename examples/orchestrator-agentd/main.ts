// The orchestrator's agent daemon: node examples/orchestrator-agentd/main.ts config.json
import { once } from "node:events";
import { createSecureServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { createClient } from "../../pkg/bridgeclient/index.ts";
import { agentDaemonRoutes } from "./agent-daemon.ts";
import { readConfig } from "./config.ts";

const config = readConfig(process.argv[2] ?? "config.json");
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
process.once("SIGINT", () => stop.abort());

await using client = createClient(config.bridge);
const handler = connectNodeAdapter({
  routes: agentDaemonRoutes(client, config.projectId),
  shutdownSignal: stop.signal,
  acceptCompression: [],
});
// Callers authenticate to this daemon, and this daemon to the bridge: two boundaries with separate certificates.
const tls = { ...config.serving, minVersion: "TLSv1.3", requestCert: true, rejectUnauthorized: true } as const;
const sessions = new Set<ServerHttp2Session>();
const server = createSecureServer(tls, handler).listen(config.listenPort, "127.0.0.1");
server.on("session", (session) => {
  sessions.add(session);
  session.once("close", () => sessions.delete(session));
});
await once(server, "listening");
console.log(`listening on https://127.0.0.1:${(server.address() as AddressInfo).port}`);
if (!stop.signal.aborted) await once(stop.signal, "abort");
server.close();
for (const session of sessions) session.close();
