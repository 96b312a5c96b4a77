import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { createClient, createRouterTransport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { expect, it } from "vitest";
import { systemClock } from "../base/clock.ts";
import { BridgeService, EventType, SessionStatus } from "../gen/bridge/v1/bridge_pb.ts";
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

it("dates an ended session's state from its end, without uptime and without a dialog", async () => {
  const at = (ms: number) => timestampFromMs(1_000_000 + ms);
  const ended = {
    sessionId: "one",
    status: SessionStatus.STOPPED,
    createdAt: at(0),
    stoppedAt: at(90_000),
    lastSeq: 2n,
  };
  const transport = createRouterTransport((router) =>
    router.service(BridgeService, {
      getSession: () => ended,
      streamEvents: () =>
        createAsyncIterable([
          { seq: 1n, type: EventType.PHASE_CHANGED, timestamp: at(1_000), state: AgentState.DIALOG },
          { seq: 2n, type: EventType.DIALOG_OPENED, timestamp: at(1_000), dialog: { id: "d" } },
        ]),
    }),
  );
  const client = createClient(BridgeService, transport);
  const status = await stdioCalls({ clock: systemClock, client, sessionId: "one" }).status();
  expect(status).toMatchObject({
    sessionAlive: false,
    state: AgentState.DEAD,
    stateSince: at(90_000),
    uptimeSeconds: 0n,
  });
  expect(status.dialog).toBeUndefined();
});
