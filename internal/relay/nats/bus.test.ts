import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, it } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { Bus } from "./bus.ts";

const INFO = { server_id: "x", version: "2.9.10", proto: 1, headers: true, max_payload: 1024, auth_required: true };
const SECOND = new Error("a second try");

/** The error of the first connection to a server that answers with `-ERR`; `SECOND` if the bus connects again. */
async function failure(message: string): Promise<unknown> {
  const sockets = new Set<Socket>();
  const stop = new AbortController();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    if (sockets.size > 1) stop.abort(SECOND);
    socket.write(`INFO ${JSON.stringify(INFO)}\r\n`);
    socket.once("data", () => socket.end(`-ERR '${message}'\r\n`));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  const url = `nats://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  try {
    const options = { url, name: "test", streamPrefix: "RELAY", firstMs: 600_000 };
    return await Bus.open(systemClock, options, stop.signal).catch((reason: unknown) => reason);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

it("connects again to a server that was too busy to check the credentials, but not to one that refuses them", async () => {
  expect(await failure("Authentication Timeout")).toBe(SECOND);
  expect(await failure("Authorization Violation")).toMatchObject({ kind: "denied" });
});
