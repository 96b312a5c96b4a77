// A server with both layers in its own process, so that its memory and its speed can be measured. Reads its options as
// JSON from stdin, prints its port, serves until stdin ends.
import { createInterface } from "node:readline";
import { startTwoLayerServer } from "./two-layer-server.ts";

const lines = createInterface(process.stdin)[Symbol.asyncIterator]();
const options = JSON.parse((await lines.next()).value ?? "");
const server = await startTwoLayerServer({ ...options, onLine: () => {} });
process.stdout.write(`${server.port}\n`);
await lines.next();
await server[Symbol.asyncDispose]();
