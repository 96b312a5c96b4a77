import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { DialledAgent } from "./dialled-agent.ts";

/** Starts to dial, on a clock whose sleeps end at once. `onSleep` gets the time that has passed, in ms. */
function dial(url: string, onSleep: (ms: number) => void, signal = new AbortController().signal): Promise<void> {
  let ms = 0;
  const clock = {
    now: () => ms,
    monotonicMs: () => ms,
    sleep: async (forMs: number) => {
      ms += forMs;
      onSleep(ms);
    },
  };
  const guard = { start: () => Promise.reject(new Error("no agent is started")) };
  const deps = { clock, logger: silentLogger, guard, marked: { end: async () => {} } };
  return new DialledAgent(deps, { url, argv: ["agent"], cwd: "/", env: {} }).run(signal);
}

it("gives up if no relay answers within 30 seconds", async () => {
  let passedMs = 0;
  const dialled = dial("ws://127.0.0.1:1/", (ms) => {
    passedMs = ms;
  });
  await expect(dialled).rejects.toMatchObject({
    kind: "unavailable",
    message: expect.stringContaining("the relay cannot be reached: connect ECONNREFUSED"),
  });
  expect(passedMs).toBe(30_000);
});

it("keeps dialling a relay that has answered once", async () => {
  const relay = createServer().on("upgrade", (_request, socket) => {
    socket.end("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    relay.close();
  });
  relay.listen(0, "127.0.0.1");
  await once(relay, "listening");
  const enough = new AbortController();
  const { port } = relay.address() as AddressInfo;
  await dial(`ws://127.0.0.1:${port}/`, (ms) => ms > 60_000 && enough.abort(), enough.signal);
  expect(enough.signal.aborted).toBe(true);
});
