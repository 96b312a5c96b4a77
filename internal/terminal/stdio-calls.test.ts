import { createClient, createRouterTransport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { expect, it } from "vitest";
import { systemClock } from "../base/clock.ts";
import { BridgeService, SessionStatus } from "../gen/bridge/v1/bridge_pb.ts";
import { AgentState } from "../gen/gastown/v1/common_pb.ts";
import { stdioCalls } from "./stdio-calls.ts";

it("shows a starting session without events, and without opening a stream", async () => {
  let streams = 0;
  const transport = createRouterTransport((router) =>
    router.service(BridgeService, {
      getSession: () => ({ sessionId: "one", status: SessionStatus.STARTING, epoch: "e" }),
      streamEvents: () => {
        streams++;
        return createAsyncIterable([]);
      },
    }),
  );
  const client = createClient(BridgeService, transport);
  const calls = stdioCalls({ clock: systemClock, client, sessionId: "one" });
  expect(await calls.status()).toMatchObject({ sessionAlive: false, state: AgentState.STARTING });
  expect(await calls.peek({ lines: 10, all: false })).toMatchObject({ output: "", epoch: "e" });
  expect(streams).toBe(0);
});
