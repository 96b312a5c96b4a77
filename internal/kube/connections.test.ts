import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import { silentLogger } from "../../test/support/silent-logger.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { KubeUnreachableError } from "./kube-errors.ts";
import { KubeTransport } from "./transport.ts";

const get = { method: "GET", path: "/api/v1/namespaces/a/pods/p" } as const;
const never = new AbortController().signal;
const stack = new AsyncDisposableStack();

afterEach(() => stack.disposeAsync());

it("follows a new CA of the API server within a minute, and trusts no server before", async () => {
  const [before, after] = [new TestCa("before"), new TestCa("after")];
  const names = { dns: ["localhost"], ips: ["127.0.0.1"] };
  const server = createServer(before.issue(names), (_, response) => response.end('{"kind":"Pod"}'));
  await once(server.listen(0, "127.0.0.1"), "listening");
  stack.defer(() => void server.close());
  let ca = before.pem;
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const credentials = { access: async () => ({ server: url, tls: { ca }, headers: {} }) };
  let passedMs = 0;
  const clock: Clock = {
    now: () => systemClock.now(),
    monotonicMs: () => systemClock.monotonicMs() + passedMs,
    sleep: (ms, signal) => systemClock.sleep(ms, signal),
  };
  const api = new KubeTransport({ credentials, clock, logger: silentLogger });
  const stop = new AbortController();
  const running = api.run(stop.signal);
  stack.defer(async () => {
    stop.abort(new Error("test ends"));
    await running;
  });
  expect(await api.call(get, never)).toEqual({ kind: "Pod" });

  server.setSecureContext(after.issue(names));
  server.closeAllConnections();
  await expect(api.call(get, never)).rejects.toThrow(KubeUnreachableError);
  ca = `${before.pem}${after.pem}`;
  passedMs = 60_000;
  expect(await api.call(get, never)).toEqual({ kind: "Pod" });
});
