import { expect, it } from "vitest";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { SeedAgent, textResult } from "../support/relay/seed-agent.ts";

it("a stopping relay refuses new connections, and its open turn ends over the existing one", async () => {
  await using nats = await NatsServer.start(await oldestNats());
  await using relay = await RelayProcess.start(nats.url);
  await using coordinator = await Coordinator.connect(nats);
  const url = await relay.url();
  using agent = await SeedAgent.dial(url, { session: "drains" });
  await coordinator.work("drains", { id: "m_1", type: "work.coding", payload: { task: "last" } });
  const { value } = await agent.request(1);
  expect((await relay.health("/readyz")).status).toBe(200);
  const ended = relay.stop();
  let ready = 200;
  for (const until = performance.now() + 30_000; ready === 200 && performance.now() < until; )
    ready = (await relay.health("/readyz")).status;
  expect(ready).toBe(503);
  const place = `${url.replace("ws:", "http:")}/acp/drains/coding?agent_id=another`;
  const late = await fetch(place);
  expect([late.status, await late.text()]).toEqual([503, expect.stringContaining("the relay is shutting down")]);
  expect(agent.closed).toBeUndefined();
  agent.send({ jsonrpc: "2.0", id: value["id"], result: textResult("done") });
  expect(await coordinator.results("drains", 1)).toHaveLength(1);
  expect((await agent.end()).code).toBe(1001);
  expect(await ended).toBe(0);
});

it("the server refuses requests other than upgrades, and pages of other hosts", async () => {
  await using nats = await NatsServer.start(await oldestNats());
  await using relay = await RelayProcess.start(nats.url);
  const base = (await relay.url()).replace("ws:", "http:");
  const place = `${base}/acp/s/coding?agent_id=a`;
  const plain = await fetch(place);
  expect([plain.status, plain.headers.get("upgrade")]).toEqual([426, "websocket"]);
  expect((await fetch(`${base}/acp/s`)).status).toBe(400);
  expect((await fetch(`${base}/other`)).status).toBe(404);
  expect((await fetch(place, { method: "PUT" })).status).toBe(405);
  expect((await fetch(place, { headers: { origin: "https://evil.example" } })).status).toBe(403);
});
