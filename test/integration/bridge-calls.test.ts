import { type Client, Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BridgeService, SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import type { WatchMode } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { BridgeFolder } from "../support/bridge/bridge-folder.ts";
import { until } from "../support/sidecar/sidecar.ts";

type Bridge = Client<typeof BridgeService>;

/** Reads the stream's first message. */
const first = async (stream: AsyncIterable<unknown>) => void (await stream[Symbol.asyncIterator]().next());

const EVENTS: Readonly<Record<string, (bridge: Bridge, sessionId: string) => Promise<unknown>>> = {
  GetSession: (bridge, sessionId) => bridge.getSession({ sessionId }),
  StreamEvents: (bridge, sessionId) => first(bridge.streamEvents({ sessionId })),
};
const TERMINAL: typeof EVENTS = {
  Peek: (bridge, sessionId) => bridge.peek({ sessionId, request: { lines: 5 } }),
  Status: (bridge, sessionId) => bridge.status({ sessionId }),
};
const RECEIPT: typeof EVENTS = {
  GetNudge: (bridge, sessionId) => bridge.getNudge({ sessionId, request: { requestId: "no-such-one" } }),
};
const LIVE_TERMINAL: typeof EVENTS = {
  Nudge: (bridge, sessionId) => bridge.nudge({ sessionId, request: { message: "hello" } }),
  SendKeys: (bridge, sessionId) => bridge.sendKeys({ sessionId, request: { keys: ["Escape"] } }),
  WatchOutput: (bridge, sessionId) => first(bridge.watchOutput({ sessionId, request: { lines: 5 } })),
};
const MISSED: typeof EVENTS = {
  CancelNudge: (bridge, sessionId) => bridge.cancelNudge({ sessionId, request: { requestId: "no-such-one" } }),
};
const ALL = { ...EVENTS, ...TERMINAL, ...RECEIPT, ...LIVE_TERMINAL, ...MISSED };

let folder: BridgeFolder;
let bridge: Bridge;
beforeAll(async () => {
  folder = await BridgeFolder.create();
  const daemon = await folder.start();
  bridge = folder.client(daemon, folder.prd);
  const start = (of: Bridge, projectId: string, sessionId: string, agentOpts: Record<string, string> = {}) =>
    of.startSession({ projectId, sessionId, provider: "demo", repoPath: folder.path("repos/one"), agentOpts });
  const mode = "terminal";
  const other = folder.client(daemon, folder.ndara);
  await Promise.all([
    ...["terminal", "terminal-ended"].map((id) => start(bridge, "prd-manager", id, { mode })),
    ...["stdio", "stdio-ended"].map((id) => start(bridge, "prd-manager", id)),
    start(other, "ndara-orchestrator", "another", { mode }),
  ]);
  const reaches = (sessionId: string, wanted: SessionStatus) =>
    until(`${sessionId} has status ${wanted}`, 30_000, async () => {
      const { status } = await bridge.getSession({ sessionId });
      return status === wanted || undefined;
    });
  const ids = ["terminal", "terminal-ended", "stdio", "stdio-ended"];
  await Promise.all(ids.map((id) => reaches(id, SessionStatus.RUNNING)));
  const ended = ids.filter((id) => id.endsWith("ended"));
  for (const sessionId of ended) await bridge.stopSession({ sessionId, force: true });
  await Promise.all(ended.map((id) => reaches(id, SessionStatus.STOPPED)));
});
afterAll(() => folder[Symbol.asyncDispose]());

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => "OK",
    (err: unknown) => Code[ConnectError.from(err).code],
  );

/** The calls' codes, as `Name: code`. */
const answers = async (calls: typeof EVENTS, sessionId: string) => {
  const codes: Record<string, string | undefined> = {};
  for (const [name, call] of Object.entries(calls)) codes[name] = await codeOf(call(bridge, sessionId));
  return codes;
};
const every = (calls: typeof EVENTS, code: string) =>
  Object.fromEntries(Object.keys(calls).map((name) => [name, code]));

describe("each call about a session has its code for a session", () => {
  it.each<[string, string, Record<string, string>]>([
    ["that runs with a terminal", "terminal", { ...every(ALL, "OK"), ...every({ ...RECEIPT, ...MISSED }, "NotFound") }],
    [
      "with a terminal that has ended",
      "terminal-ended",
      {
        ...every({ ...EVENTS, ...TERMINAL }, "OK"),
        ...every(RECEIPT, "NotFound"),
        ...every({ ...LIVE_TERMINAL, ...MISSED }, "FailedPrecondition"),
      },
    ],
    ["that runs without a terminal", "stdio", { ...every(ALL, "Unimplemented"), ...every(EVENTS, "OK") }],
    ["without a terminal that has ended", "stdio-ended", { ...every(ALL, "Unimplemented"), ...every(EVENTS, "OK") }],
    ["that nobody started", "unknown", every(ALL, "NotFound")],
    ["of another project", "another", every(ALL, "NotFound")],
    ["without an id", "", every(ALL, "InvalidArgument")],
  ])("%s", async (_of, sessionId, expected) => {
    expect(await answers(ALL, sessionId)).toEqual(expected);
  });
});

it("WatchOutput rejects an unknown mode, also behind a bridge", async () => {
  const watch = first(bridge.watchOutput({ sessionId: "terminal", request: { lines: 5, mode: 7 as WatchMode } }));
  expect(await codeOf(watch)).toBe("InvalidArgument");
});
