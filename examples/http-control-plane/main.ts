// An HTTP API whose agents run behind a bridge: node examples/http-control-plane/main.ts config.json
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createClient, type SessionEvent } from "../../pkg/bridgeclient/index.ts";
import { AgentSessions } from "./agent-sessions.ts";
import { readConfig } from "./config.ts";
import { httpApi } from "./http-api.ts";

const config = readConfig(process.argv[2] ?? "config.json");
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
process.once("SIGINT", () => stop.abort());

await using client = createClient(config.bridge);
const sessions = new AgentSessions(client, config.projectId, onAgentEvent);
await sessions.resume(stop.signal);
const server = httpApi(sessions, stop.signal).listen(config.listenPort, "127.0.0.1");
await once(server, "listening");
console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
if (!stop.signal.aborted) await once(stop.signal, "abort");
server.close();
server.closeAllConnections();

/** Here the control plane has its own fan-out, e.g. to chat. */
function onAgentEvent({ sessionId, seq, stream, text, done }: SessionEvent): void {
  console.log(JSON.stringify({ session: sessionId, seq: Number(seq), stream, text, done }));
}
