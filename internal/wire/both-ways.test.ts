import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import * as pb from "../gen/gastown/v1/sidecar_pb.ts";
import type { AttachInput, AttachOutput } from "../session/attach.ts";
import type * as pane from "../session/types.ts";
import { attachInputs, attachOutput, attachOutputs, attachRequests } from "./attach.ts";
import { respondRequest, respondRequestOf, respondResponse, respondResult } from "./dialog.ts";
import { eventReceipt, nudgeReceipt, nudgeRequest, nudgeRequestOf, nudgeResponse, receiptMessage } from "./nudge.ts";
import { agentStatusOf, statusResponse } from "./status.ts";
import { outputUpdate, watchRequest, watchRequestOf, watchUpdate } from "./watch.ts";

const evidence: readonly pane.Evidence[] = [{ source: "hook", value: "took it", ageMs: 3, confidence: "proof" }];
const dialog: pane.Dialog = {
  ...{ id: "d", kind: "plan", title: "t", text: "x", since: 5 },
  choices: [{ key: "1", label: "Yes", selected: true }],
};

it.each(["normal", "urgent"] as const)("keeps a nudge of priority %s", (priority) => {
  const nudge: pane.NudgeRequest = {
    ...{ message: "m", requestId: "r", mode: "queue", timeoutMs: 5, sender: "s", owner: "s", ttlMs: 6, quietMs: 7 },
    priority,
  };
  const sent = create(pb.SidecarNudgeRequestSchema, nudgeRequest(nudge));
  expect(nudgeRequestOf(sent, { sender: "s", owner: "s" })).toEqual(nudge);
});

it("keeps a receipt, as an answer and as an event", () => {
  const receipt: pane.NudgeReceipt = {
    ...{ requestId: "r", outcome: "composer-busy", error: "e", sender: "s", queuePosition: 0, evidence },
    timings: { queuedMs: 1, typedMs: 2 },
  };
  const told = create(pb.SidecarNudgeResponseSchema, nudgeResponse({ ...receipt, deliveredText: "typed" }));
  expect(nudgeReceipt(told, "s")).toEqual({ ...receipt, deliveredText: "typed" });
  expect(eventReceipt(receiptMessage(receipt))).toEqual(receipt);
});

it("keeps the answer to a dialog", () => {
  const asked: pane.RespondRequest = { dialogId: "d", choice: "1", requestId: "r", text: "why" };
  expect(respondRequestOf(create(pb.SidecarRespondRequestSchema, respondRequest(asked)))).toEqual(asked);
  const result: pane.RespondResult = { outcome: "changed", evidence };
  expect(respondResult(create(pb.SidecarRespondResponseSchema, respondResponse(result)))).toEqual(result);
});

it("keeps a status with all of its optional fields", () => {
  const status: pane.PaneStatus = {
    ...{ alive: true, state: "crash-loop", stateSince: 1000, evidence, agentPid: 5, restarts: 2, uptimeSeconds: 7 },
    ...{ queueDepth: 1, attached: 1, epoch: "e", cols: 80, rows: 24, draft: true, versions: { tmux: "3.3a" } },
    background: [{ id: "b", kind: "shell", title: "t", since: 9 }],
    ...{ dialog, parkedUntil: 2000, exitCode: 3, lastOutputAt: 1_000_123, agentSessionId: "c-1" },
  };
  const identity = { sessionId: "s", project: "p", address: "rig/name" };
  const told = create(pb.SidecarStatusResponseSchema, statusResponse(status, identity, "demo"));
  const whose = { agent: "rig/name", sessionId: "s", projectId: "p", provider: "demo" };
  expect(agentStatusOf(told)).toEqual({ ...status, ...whose });
});

it.each(["screen", "raw"] as const)("keeps a watch's request: %s", (mode) => {
  const request: pane.WatchRequest = { mode, lines: 3, intervalMs: 4, ansi: true, epoch: "e", afterOffset: 5n };
  expect(watchRequestOf(create(pb.SidecarWatchRequestSchema, watchRequest(request)))).toEqual(request);
});

it("keeps an update", () => {
  const update: pane.WatchUpdate = {
    ...{ kind: "heartbeat", output: "text", data: new Uint8Array([1]), alive: true, timestamp: 1_000_123, epoch: "e" },
    ...{ offset: 7n, cols: 80, rows: 24, alternateScreen: true, cursorX: 1, cursorY: 2, endReason: "" },
    gap: { first: 1n, to: 2n, reason: "restart" },
  };
  expect(watchUpdate(create(pb.SidecarOutputUpdateSchema, outputUpdate(update)))).toEqual(update);
});

it("reads the unknown values of a newer sidecar as the most cautious words", () => {
  const unknown = 99 as never;
  expect(agentStatusOf(create(pb.SidecarStatusResponseSchema, { state: unknown })).state).toBe("uncertain");
  expect(nudgeReceipt(create(pb.SidecarNudgeResponseSchema, { outcome: unknown }), "").outcome).toBe("unknown");
  expect(respondResult(create(pb.SidecarRespondResponseSchema, { outcome: unknown })).outcome).toBe("unknown");
  const update = create(pb.SidecarOutputUpdateSchema, { kind: unknown, gap: { reason: unknown } });
  expect(watchUpdate(update)).toMatchObject({ kind: "change", gap: { reason: "truncated" } });
  const evidence = [{ source: "telepathy", confidence: unknown }];
  expect(agentStatusOf(create(pb.SidecarStatusResponseSchema, { evidence })).evidence).toMatchObject([
    { source: "output", confidence: "weak" },
  ]);
});

it("keeps an attachment, without the messages of a newer program", async () => {
  const hello = { cols: 80, rows: 24, readOnly: true, name: "ann" };
  const inputs: readonly AttachInput[] = [
    { type: "data", data: new Uint8Array([1]) },
    { type: "resize", cols: 90, rows: 30 },
  ];
  const requests = attachRequests(hello, listed(inputs));
  const { value: first } = await requests.next();
  expect(first?.input).toMatchObject({ case: "hello", value: hello });
  const newer = create(pb.SidecarAttachInputSchema);
  expect(await Array.fromAsync(attachInputs(listed([newer, ...(await Array.fromAsync(requests))])))).toEqual(inputs);
  const outputs: readonly AttachOutput[] = [
    { type: "data", data: new Uint8Array([2]) },
    { type: "resized", cols: 90, rows: 30 },
    { type: "notice", text: "bob looks on" },
    { type: "end", reason: "detached", exitCode: 0 },
  ];
  const told = outputs.map((output) => create(pb.SidecarAttachOutputSchema, attachOutput(output)));
  const newerOutput = create(pb.SidecarAttachOutputSchema);
  expect(await Array.fromAsync(attachOutputs(listed([newerOutput, ...told])))).toEqual(outputs);
});

async function* listed<T>(values: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* values;
}
