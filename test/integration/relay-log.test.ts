import { describe, expect, it } from "vitest";
import { systemClock } from "../../internal/base/clock.ts";
import { Bus } from "../../internal/relay/nats/bus.ts";
import { ensureStreams } from "../../internal/relay/nats/ensure-streams.ts";
import { Fenced, LaneLog } from "../../internal/relay/nats/lane-log.ts";
import { AckThief } from "../support/relay/ack-thief.ts";
import { NatsServer, newestNats, oldestNats } from "../support/relay/nats-server.ts";
import { Coordinator } from "../support/relay/relay-bed.ts";
import { RelayProcess } from "../support/relay/relay-process.ts";
import { SeedAgent, textResult } from "../support/relay/seed-agent.ts";

const LANE = { sessionId: "s", role: "r" };
const NEVER = new AbortController().signal;

describe.concurrent.each([
  ["oldest", () => oldestNats()],
  ["newest", newestNats],
] as const)("a lane's log, on the %s server", (_name, program) => {
  it("rejects a writer whose acknowledgement was late and whose record another writer has followed", async (context) => {
    await using server = await NatsServer.start(await program(context));
    const options = { url: server.url, name: "test", streamPrefix: "RELAY", firstMs: 60_000 };
    const [one, other] = await Promise.all([1, 2].map(() => Bus.open(systemClock, options, NEVER)));
    if (one === undefined || other === undefined) throw new Error("no connection");
    try {
      await ensureStreams(one.jsm, one.streams, 1);
      const next = new LaneLog(other, systemClock, LANE);
      const stored = one.js.publish.bind(one.js);
      // As if the writer had been suspended after its record was stored, until the next holder had written.
      const publish: typeof stored = async (...call) => {
        await stored(...call);
        await next.read();
        await next.append({ t: "claimed" }, NEVER);
        throw new Error("timeout");
      };
      Object.defineProperty(one, "js", { value: { publish } });
      const log = new LaneLog(one, systemClock, LANE);
      await log.append({ t: "prompted" }, NEVER);
      await expect(log.append({ t: "answered" }, NEVER)).rejects.toBeInstanceOf(Fenced);
      const records = await next.read();
      expect(records.map(({ text }) => (JSON.parse(text) as { t: string }).t)).toEqual(["prompted", "claimed"]);
    } finally {
      await Promise.all([one.nc.close(), other.nc.close()]);
    }
  });

  it("repeats no record, result or prompt after a lost acknowledgement", { timeout: 600_000 }, async (context) => {
    await using server = await NatsServer.start(await program(context));
    await using thief = await AckThief.listen(server.url, 2);
    await using relay = await RelayProcess.start(thief.url, { args: ["--pong-timeout", "300"] });
    await using coordinator = await Coordinator.connect(server);
    using agent = SeedAgent.begin(await relay.url(), { session: "s" });
    agent.answer = ({ id }) => textResult(`done ${String(id)}`);
    const ids = ["w1", "w2", "w3"];
    for (const id of ids) await coordinator.work("s", { id, type: "work.coding", payload: { task: id } });
    const results = await coordinator.results("s", 3);
    await coordinator.allSettled();
    expect(thief.stolen.get("RELAY_LANES")).toBeGreaterThan(0);
    expect(thief.stolen.get("RELAY_RESULTS")).toBeGreaterThan(0);
    expect(results.map(({ body }) => body["payload"])).toEqual(ids.map((id) => ({ text: `done ${id}` })));
    expect(await coordinator.stored("RELAY_RESULTS", "sessions.s.results.coding")).toHaveLength(3);
    expect(agent.requests.map(({ value }) => value["id"])).toEqual(ids);
    const records = await coordinator.stored("RELAY_LANES", "relay.lanes.s.coding");
    expect(records.map(({ body }) => `${body["t"]} ${body["id"] ?? ""}`.trim())).toEqual([
      ...["claimed", ...ids.flatMap((id) => [`prompted ${id}`, `answered ${id}`, `done ${id}`])],
    ]);
  });
});
