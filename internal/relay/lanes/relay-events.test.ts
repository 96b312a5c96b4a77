import { expect, it } from "vitest";
import { SignalBus } from "../../base/signal-bus.ts";
import type { StoredMessage } from "../nats/publish.ts";
import { RelayEvents } from "./relay-events.ts";

/** An outbox with room for `count` messages. */
function room(count: number) {
  const bodies: unknown[] = [];
  const box = {
    room: count,
    changes: new SignalBus(),
    get isFull() {
      return box.room === 0;
    },
    offer: ({ body }: StoredMessage) => {
      if (box.room === 0) return false;
      box.room--;
      const { session_id, type, payload } = JSON.parse(String(body)) as Readonly<Record<string, unknown>>;
      bodies.push([session_id, type, payload]);
      return true;
    },
  };
  return { box, bodies };
}

it("events without room are counted in outbox.overflow, in order, as soon as there is room", () => {
  const { box, bodies } = room(1);
  let id = 0;
  const events = new RelayEvents(box, () => String(++id));
  events.publish("a", "work.duplicate", { id: "1" });
  events.publish("a", "work.duplicate", { id: "2" });
  events.publish("b", "work.duplicate", { id: "3" });
  events.publish("a", "work.duplicate", { id: "4" });
  box.room = 3;
  box.changes.notify();
  events.publish("b", "work.duplicate", { id: "5" });
  expect(bodies).toEqual([
    ["a", "work.duplicate", { id: "1" }],
    ["a", "outbox.overflow", { messages: 2 }],
    ["b", "outbox.overflow", { messages: 1 }],
    ["b", "work.duplicate", { id: "5" }],
  ]);
});

it("an event is preceded by the report of lost ones; if only that fits, the event is lost and counted as well", () => {
  const { box, bodies } = room(0);
  const events = new RelayEvents(box, () => "id");
  events.publish("a", "work.duplicate", { id: "1" });
  box.room = 1;
  events.publish("a", "work.duplicate", { id: "2" });
  box.room = 2;
  events.publish("a", "work.duplicate", { id: "3" });
  expect(bodies).toEqual([
    ["a", "outbox.overflow", { messages: 1 }],
    ["a", "outbox.overflow", { messages: 1 }],
    ["a", "work.duplicate", { id: "3" }],
  ]);
});
