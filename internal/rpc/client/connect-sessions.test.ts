import { once } from "node:events";
import { createServer } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { expect, it } from "vitest";
import type { ClientSessions } from "./client-sessions.ts";
import { connectSessions } from "./connect-sessions.ts";

const reset = () => Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });

/** When the connection fails, counted from the moment when it opens. */
const MOMENTS: Record<string, (fail: () => void) => void> = {
  "in the next tick": (fail) => process.nextTick(fail),
  "two ticks later": (fail) => process.nextTick(() => process.nextTick(fail)),
  "in a microtask": (fail) => queueMicrotask(fail),
};

it("uses plaintext for an http address, even if certificates are configured", async () => {
  const server = createServer((_, res) => void res.writeHead(204).end());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const sessions = connectSessions({ baseUrl: `http://127.0.0.1:${port}` }, { cert: "", key: "", ca: "" });
  expect(await statusOf(sessions)).toBe(204);
  sessions.abort();
  await new Promise((resolve) => server.close(resolve));
});

// An error without a listener fails the test run, since it would end the process. Connect alone also waits for such a
// connection without end, in microtasks, so that nothing else runs.
it.for(Object.entries(MOMENTS))("a connection that is reset while it opens is replaced: %s", async ([, at]) => {
  const server = createServer((_, res) => void res.writeHead(204).end());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  let dialled = 0;
  const dial = () => {
    const socket = connect(port, "127.0.0.1");
    if (dialled++ === 0) socket.once("connect", () => at(() => void socket.destroy(reset())));
    return socket;
  };
  const sessions = connectSessions({ baseUrl: `http://127.0.0.1:${port}`, dial }, undefined);
  const first = await statusOf(sessions).catch(() => undefined);
  expect(first === 204 ? first : await statusOf(sessions)).toBe(204);
  expect(dialled).toBe(2);
  sessions.abort();
  await new Promise((resolve) => server.close(resolve));
});

/** Makes a call and waits until its stream is closed; undefined when no response came. */
async function statusOf(sessions: ClientSessions): Promise<number | undefined> {
  const stream = await sessions.request("GET", "/", {}, {});
  stream.on("error", () => {});
  let status: number | undefined;
  stream.once("response", (headers) => {
    status = headers[":status"];
  });
  stream.resume().end();
  await new Promise((resolve) => stream.once("close", resolve));
  return status;
}
