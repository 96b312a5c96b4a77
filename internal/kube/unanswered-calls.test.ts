import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { silentLogger } from "../../test/support/silent-logger.ts";
import { KubeTransport } from "./transport.ts";

const never = new AbortController().signal;
const urgent = { method: "GET", path: "/api/v1/namespaces/a/pods/p", lane: "urgent" } as const;

it("a transport reports an unanswered urgent call while it waits and afterwards", async () => {
  const arrived = Promise.withResolvers<void>();
  let handler: RequestListener = () => arrived.resolve();
  const server = createServer((request, response) => handler(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const access = async () => ({
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tls: {},
    headers: {},
  });
  const clock = new FakeClock();
  const api = new KubeTransport({ credentials: { access }, clock, logger: silentLogger });
  const stop = new AbortController();
  const running = api.run(stop.signal);
  try {
    const call = api.call({ ...urgent, timeoutMs: 5_000 }, never);
    call.catch(() => {});
    await arrived.promise;
    expect(api.unansweredAtMs).toBeUndefined();
    await clock.advance(2_000);
    expect(api.unansweredAtMs).toBe(clock.monotonicMs());
    await clock.advance(3_000);
    await expect(call).rejects.toMatchObject({ kind: "deadline" });
    const failedAt = clock.monotonicMs();
    handler = (_, response) => response.end('{"kind":"Pod"}');
    await clock.advance(1_000);
    await api.call(urgent, never);
    expect(api.unansweredAtMs).toBe(failedAt);
  } finally {
    stop.abort();
    await running;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
