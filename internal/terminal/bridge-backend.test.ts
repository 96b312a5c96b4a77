import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { systemClock } from "../base/clock.ts";
import { BridgeService, SessionStatus } from "../gen/bridge/v1/bridge_pb.ts";
import { BridgeBackend } from "./bridge-backend.ts";

it("has stopped a session that its control plane forgets at once, because it never ran", async () => {
  let isThere = true;
  const transport = createRouterTransport(({ service }) =>
    service(BridgeService, {
      getSession: () => {
        if (isThere) return { status: SessionStatus.STARTING };
        throw new ConnectError("there is no such session", Code.NotFound);
      },
      stopSession: () => {
        isThere = false;
        return { status: SessionStatus.STOPPING };
      },
    }),
  );
  const deps = {
    ...{ transport, clock: systemClock, newId: () => "id", toError: (err: unknown) => err },
    ...{ random: () => 0, close: () => {} },
  };
  const options = { where: "127.0.0.1:9445", hint: "", reconnectMs: 0, sessionId: "one" };
  const backend = new BridgeBackend(deps, options);
  const { signal } = new AbortController();
  expect(await backend.stop({ force: false, graceMs: 0 }, signal)).toEqual({ signal: "", alreadyStopped: false });
  await expect(backend.stop({ force: false, graceMs: 0 }, signal)).rejects.toThrow("there is no such session");
});
