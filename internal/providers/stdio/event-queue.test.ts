import { expect, it } from "vitest";
import type { AgentEvent } from "../../bridge/provider.ts";
import { EventQueue } from "./event-queue.ts";

const line = (text: string): AgentEvent => ({ type: "output", stream: "stdout", text });

async function readAll(queue: EventQueue): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of queue) events.push(event);
  return events;
}

it("returns everything to one reader in order, including events that arrive while it waits", async () => {
  const queue = new EventQueue({ events: 10, characters: 100 }, () => {});
  queue.push(line("a"));
  const read = readAll(queue);
  await Promise.resolve();
  queue.push(line("b"));
  queue.push({ type: "ended" });
  queue.close();
  queue.push(line("never"));
  expect(await read).toEqual([line("a"), line("b"), { type: "ended" }]);
  expect(await readAll(queue)).toEqual([]);
});

it.each([
  ["events", ["", "", ""]],
  ["characters", ["x".repeat(100)]],
])("is full according to its %s, and reports when there is room again", async (_what, texts) => {
  let rooms = 0;
  const queue = new EventQueue({ events: 3, characters: 100 }, () => rooms++);
  for (const text of texts) queue.push(line(text));
  expect(queue.isFull).toBe(true);
  const reader = queue[Symbol.asyncIterator]();
  await reader.next();
  expect(queue.isFull).toBe(false);
  expect(rooms).toBe(1);
});

it("drops nothing above its limits", async () => {
  const queue = new EventQueue({ events: 3, characters: 100 }, () => {});
  for (let count = 0; count < 5000; count++) queue.push(line(String(count)));
  queue.close();
  expect(await readAll(queue)).toHaveLength(5000);
});
