import { createContextValues } from "@connectrpc/connect";
import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { collectGarbage } from "../../../test/support/collect-garbage.ts";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { aborted } from "../../base/abort.ts";
import { DomainError } from "../../base/errors.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { CallContext } from "../../rpc/server/call-facts.ts";
import type { LaneLink } from "../lanes/link.ts";
import { RelayMetrics } from "../lanes/relay-metrics.ts";
import { AgentDoor, type AgentDoorDeps, type AgentDoorOptions } from "./agent-door.ts";
import { AGENTS_SERVICE, agentGate } from "./agent-gate.ts";

/** An agent without WebSocket, after its GET. `admitting` runs while it is being admitted. */
async function arrived({ admitting = () => {} }: { readonly admitting?: (call: AbortController) => void } = {}) {
  const call = new AbortController();
  const events: [type: string, payload: object][] = [];
  const links: WeakRef<LaneLink>[] = [];
  const serve = async (link: LaneLink) => {
    links.push(new WeakRef(link));
    const { gone } = link;
    await aborted(gone);
  };
  const admit = async () => {
    admitting(call);
    return { serve, abandon: async () => {} };
  };
  const metrics = new RelayMetrics(new Registry());
  const publish = (_session: string, type: string, payload: object) => void events.push([type, payload]);
  const deps = {
    ...{ clock: new FakeClock(), logger: silentLogger, metrics, lanes: { admit }, events: { publish } },
    ...{ outbox: { isFull: false, changes: new SignalBus() }, ended: new AbortController().signal },
  } as unknown as AgentDoorDeps;
  const options = { pingIntervalMs: 30_000, maxMessageBytes: 4096, settingsOf: () => ({}), relayId: "relay" };
  const door = new AgentDoor(deps, options as unknown as AgentDoorOptions);
  const url = "http://relay/acp/s1/coding?agent_id=a1";
  const requestHeader = new Headers({ accept: "text/event-stream" });
  const service = { typeName: AGENTS_SERVICE };
  const context = { url, requestHeader, values: createContextValues(), signal: call.signal, service } as CallContext;
  agentGate(deps, { acp2: false })(context);
  const route = door.plain.routes?.find(({ methods }) => methods.includes("GET"));
  const response = await route?.handle(new Request(url, { headers: requestHeader, signal: call.signal }), context);
  const gone = () => events.find(([type]) => type === "agent.disconnected")?.[1];
  return { call, body: response?.body, gone, links, door };
}

it("notices at once that an agent without WebSocket has left", async () => {
  const { call, gone } = await arrived();
  await collectGarbage();
  call.abort(new Error("the caller disconnected"));
  await settle();
  expect(gone()).toEqual({ agent_id: "a1", role: "coding", reason: "cut", code: 1006 });
});

it("tells an agent without WebSocket why the relay ends its connection", async () => {
  const { call, body, gone } = await arrived();
  call.abort(new DomainError("unauthenticated", "the token has expired"));
  let text = "";
  for await (const chunk of body ?? []) text += Buffer.from(chunk).toString();
  expect(text).toContain('event: close\ndata: {"code":4401,"reason":"the token has expired"}\n\n');
  await settle();
  expect(gone()).toMatchObject({ reason: "the token has expired", code: 4401 });
});

it("keeps nothing of an agent without WebSocket that leaves while it is being admitted", async () => {
  const admitting = (call: AbortController) => call.abort(new Error("the caller disconnected"));
  const { door, gone, links } = await arrived({ admitting });
  await settle();
  expect([gone(), links.length]).toEqual([expect.objectContaining({ code: 1006 }), 1]);
  await collectGarbage();
  expect(links[0]?.deref()).toBe(undefined);
  await door.idle();
});
