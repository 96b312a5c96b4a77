import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { BridgeFolder, type RunningBridge } from "../support/bridge/bridge-folder.ts";
import { SpanCollector } from "../support/bridge/span-collector.ts";
import { calmTime } from "../support/calm-time.ts";

const BRIDGE = "bridge.v1.BridgeService";
const SIDECAR = "gastown.v1.SidecarService";
const traceId = (digit: string) => digit.repeat(32);
const caller = (digit: string) => ({ traceparent: `00-${traceId(digit)}-00f067aa0ba902b7-01` });

let folder: BridgeFolder;
beforeAll(async () => {
  folder = await BridgeFolder.create();
});
afterAll(() => folder[Symbol.asyncDispose]());

const clientOf = (bridge: RunningBridge) => folder.client(bridge, folder.prd);
const start = (bridge: RunningBridge, sessionId: string, mode: string) =>
  clientOf(bridge).startSession({
    ...{
      projectId: "prd-manager",
      sessionId,
      provider: "demo",
      repoPath: folder.path("repos/one"),
      agentOpts: { mode },
    },
  });

describe("with a collector", () => {
  it("a call is one trace from its caller over the bridge to the sidecar and the receipt, without the typed text", async () => {
    await using collector = await SpanCollector.start();
    await using bridge = await folder.start({ tracing: { otlp_endpoint: collector.url } });
    await start(bridge, "t1", "terminal");
    const sent = await clientOf(bridge).nudge(
      { sessionId: "t1", request: { message: "the-secret-text", requestId: "n1" } },
      { headers: caller("a") },
    );
    expect(sent.outcome).toBe(NudgeOutcome.SUBMITTED);
    const names = [`${BRIDGE}/Nudge`, `${SIDECAR}/Nudge`, "receipt"] as const;
    const spans = await collector.trace(traceId("a"), names);
    const [call, hop, receipt] = names.map((name) => spans.get(name));
    expect(call).toMatchObject({ kind: 2, parentSpanId: "00f067aa0ba902b7" });
    expect(call?.attributes).toMatchObject({ "gastown.session": "t1", "gastown.project": "prd-manager" });
    expect(hop).toMatchObject({ kind: 3, parentSpanId: call?.spanId });
    expect(receipt).toMatchObject({ kind: 1, parentSpanId: call?.spanId });
    expect(receipt?.attributes).toMatchObject({ "gastown.outcome": "submitted", "gastown.request": "n1" });
    expect(collector.bodies.join()).not.toContain("the-secret-text");
    await clientOf(bridge).stopSession({ sessionId: "t1", force: true });
  });

  it("an input queued over stdio is traced to its receipt", async () => {
    await using collector = await SpanCollector.start();
    const providers = { demo: { args: ["--turn-ms", "5000", "--steps", "1"] } };
    await using bridge = await folder.start({ providers, tracing: { otlp_endpoint: collector.url } });
    await start(bridge, "s1", "stdio");
    const client = clientOf(bridge);
    await client.sendInput({ sessionId: "s1", text: "one" });
    const queued = await client.sendInput(
      { sessionId: "s1", text: "two", idempotencyKey: "k2" },
      { headers: caller("b") },
    );
    expect(queued.outcome).toBe(NudgeOutcome.QUEUED);
    const spans = await collector.trace(traceId("b"), [`${BRIDGE}/SendInput`, "receipt"]);
    expect(spans.get("receipt")?.attributes).toMatchObject({ "gastown.outcome": "submitted", "gastown.request": "k2" });
  });
});

it("a collector that never responds delays no call and no shutdown, and is reported once", async () => {
  await using collector = await SpanCollector.start({ answers: false });
  const bridge = await folder.start({ tracing: { otlp_endpoint: collector.url } });
  await start(bridge, "h1", "stdio");
  const client = clientOf(bridge);
  const called = calmTime();
  for (let i = 0; i < 50; i++) await client.getSession({ sessionId: "h1" });
  expect(called()).toBeLessThan(5000);
  const stopped = calmTime();
  await bridge[Symbol.asyncDispose]();
  expect(await bridge.exited).toBe(0);
  expect(stopped()).toBeLessThan(10_000);
  expect(collector.bodies.length).toBeGreaterThan(0);
  expect(bridge.log().match(/spans were lost/g)?.length ?? 0).toBeLessThanOrEqual(1);
});
