import { Code, ConnectError, createRouterTransport, type ServiceImpl } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { BridgeService, SessionStatus } from "../gen/bridge/v1/bridge_pb.ts";
import { BridgeBackend } from "./bridge-backend.ts";

const { signal } = new AbortController();

function backendOf(service: Partial<ServiceImpl<typeof BridgeService>>, clock: Clock = systemClock): BridgeBackend {
  const transport = createRouterTransport((router) => router.service(BridgeService, service));
  const deps = {
    ...{ transport, clock, newId: () => "id", toError: (err: unknown) => err },
    ...{ random: () => 0, close: () => {} },
  };
  return new BridgeBackend(deps, { where: "127.0.0.1:9445", hint: "", reconnectMs: 0, sessionId: "one" });
}

it("treats a session that its control plane forgets at once, because it never ran, as stopped", async () => {
  let isThere = true;
  const backend = backendOf({
    getSession: () => {
      if (isThere) return { status: SessionStatus.STARTING };
      throw new ConnectError("there is no such session", Code.NotFound);
    },
    stopSession: () => {
      isThere = false;
      return { status: SessionStatus.STOPPING };
    },
  });
  expect(await backend.stop({ force: false, graceMs: 0 }, signal)).toEqual({ signal: "", alreadyStopped: false });
  await expect(backend.stop({ force: false, graceMs: 0 }, signal)).rejects.toThrow("there is no such session");
});

it("waits for the end of a failed session whose agent may start again", async () => {
  const clock = new FakeClock();
  let looks = 0;
  const backend = backendOf(
    {
      getSession: () => {
        if (++looks === 4) throw new ConnectError("there is no such session", Code.NotFound);
        return { status: SessionStatus.FAILED, reason: "CrashLoopBackOff" };
      },
      stopSession: () => ({ status: SessionStatus.FAILED }),
    },
    clock,
  );
  const stopped = backend.stop({ force: false, graceMs: 0 }, signal);
  const told = expect(stopped).resolves.toEqual({ signal: "", alreadyStopped: false });
  await clock.until(told, 5_000);
  expect(looks).toBe(4);
});

it("does not wait for the end of a session whose node is lost", async () => {
  const clock = new FakeClock();
  const error = "the node n1 does not answer: it is not known whether the agent is running";
  const backend = backendOf(
    {
      getSession: () => ({ status: SessionStatus.STOPPING, reason: "NodeLost", error }),
      stopSession: () => ({ status: SessionStatus.STOPPING }),
    },
    clock,
  );
  const stopped = backend.stop({ force: true, graceMs: 0 }, signal);
  const told = expect(stopped).rejects.toMatchObject({ kind: "unavailable", message: expect.stringContaining(error) });
  await clock.until(told, 15_000);
});
