import { AckPolicy } from "@nats-io/jetstream";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../internal/base/clock.ts";
import { Bus } from "../../internal/relay/nats/bus.ts";
import { ensureStreams } from "../../internal/relay/nats/ensure-streams.ts";
import { ConsumerGone, LaneConsumer } from "../../internal/relay/nats/lane-consumer.ts";
import { subjects } from "../../internal/relay/nats/subjects.ts";
import type { WorkItem } from "../../internal/relay/nats/work-item.ts";
import { NatsServer, newestNats, oldestNats } from "../support/relay/nats-server.ts";
import { until } from "../support/sidecar/sidecar.ts";

const LANE = { sessionId: "s", role: "r" };
const NEVER = new AbortController().signal;

describe.concurrent.each([
  ["oldest", () => oldestNats()],
  ["newest", newestNats],
] as const)("the consumer of a lane, on the %s server", (_name, program) => {
  it("delivers unacknowledged work again, then new work", async (context) => {
    await using server = await NatsServer.start(await program(context));
    const options = { url: server.url, name: "test", streamPrefix: "RELAY", firstMs: 60_000 };
    const bus = await Bus.open(systemClock, options, NEVER);
    try {
      await ensureStreams(bus.jsm, bus.streams, 1);
      const publish = (text: string) => bus.js.publish(subjects.work(LANE), text, { timeout: 60_000 });
      for (const text of ["one", "two", "three"]) await publish(text);
      const consumer = new LaneConsumer(bus, LANE, 1);
      await expect(consumer.passedOver()).rejects.toBeInstanceOf(ConsumerGone);
      const once = { max_deliver: 1, max_ack_pending: 1, ack_policy: AckPolicy.Explicit };
      const filter = { durable_name: consumer.name, filter_subject: subjects.work(LANE) };
      await bus.jsm.consumers.add(bus.streams.work, { ...once, ...filter });
      for (const text of ["one", "two", "three"]) {
        const item = await consumer.pull(NEVER);
        expect(textOf(item)).toBe(text);
        expect(await consumer.passedOver()).toBeUndefined(); // the work is still in progress
        if (text === "three") await item?.ack();
        else item?.nak(); // it is not delivered a second time
      }
      await publish("four");
      for (const text of ["one", "two"]) {
        const item = await until(text, 60_000, () => consumer.passedOver());
        expect(textOf(item)).toBe(text);
        await item.ack();
      }
      expect(await consumer.passedOver()).toBeUndefined();
      const item = await consumer.pull(NEVER);
      expect(textOf(item)).toBe("four");
      await item?.ack();
      expect((await bus.jsm.streams.info(bus.streams.work)).state.messages).toBe(0);
    } finally {
      await bus.nc.close();
    }
  });
});

describe.concurrent.each([
  ["oldest", () => oldestNats()],
  ["newest", newestNats],
] as const)("the consumer of a lane, on the %s server", (_name, program) => {
  it("redelivers lost work at once, unless another relay holds the lane", async (context) => {
    await using server = await NatsServer.start(await program(context));
    const options = { url: server.url, name: "test", streamPrefix: "RELAY", firstMs: 60_000 };
    const bus = await Bus.open(systemClock, options, NEVER);
    try {
      await ensureStreams(bus.jsm, bus.streams, 1);
      for (const text of ["one", "two"]) await bus.js.publish(subjects.work(LANE), text, { timeout: 60_000 });
      const consumer = new LaneConsumer(bus, LANE, 1);
      expect(await consumer.create(600_000)).toBe(true);
      expect(textOf(await consumer.pull(NEVER))).toBe("one");
      await consumer.forgetLost();
      const again = await consumer.pull(NEVER);
      expect(textOf(again)).toBe("one");
      await again?.ack();
      await consumer.forgetLost(); // no work is pending, so this does nothing
      expect(textOf(await consumer.pull(NEVER))).toBe("two");
      const next = new LaneConsumer(bus, LANE, 2);
      await next.deleteOf(1);
      expect(await next.create(600_000)).toBe(true);
      await expect(consumer.forgetLost()).rejects.toBeInstanceOf(ConsumerGone);
      expect(textOf(await next.pull(NEVER))).toBe("two");
    } finally {
      await bus.nc.close();
    }
  });
});

function textOf(item: WorkItem | undefined): string {
  return new TextDecoder().decode(item?.data);
}
