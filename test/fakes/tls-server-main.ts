// A server with certificates in its own process, so that its memory can be measured. Reads the TLS files as JSON from
// stdin, prints its port, serves until stdin ends.
import { createInterface } from "node:readline";
import { systemClock } from "../../internal/base/clock.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { HealthState, healthRoutes } from "../../internal/rpc/server/health.ts";
import { RpcServer } from "../../internal/rpc/server/server.ts";

const lines = createInterface(process.stdin)[Symbol.asyncIterator]();
const tls = JSON.parse((await lines.next()).value ?? "");
const health = new HealthState();
health.set("", true);
const deps = { clock: systemClock, logger: createLogger("server", "error") };
const options = { host: "127.0.0.1", port: 0, routes: healthRoutes(health), tls, graceMs: 100 };
const server = new RpcServer(deps, options);
const stop = new AbortController();
const running = server.run(stop.signal);
process.stdout.write(`${(await server.listening).port}\n`);
await lines.next();
stop.abort();
await running;
