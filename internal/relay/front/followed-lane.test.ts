import type { Msg } from "@nats-io/transport-node";
import { expect, it } from "vitest";
import type { Bus } from "../nats/bus.ts";
import { EditorOutput } from "./editor-output.ts";
import { FollowedLane } from "./followed-lane.ts";

const lane = { sessionId: "s", role: "r" };

interface Sent {
  readonly params: {
    readonly update: { readonly sessionUpdate: string; readonly content: { readonly text: string } };
    readonly _meta: { readonly relay: Readonly<Record<string, unknown>> };
  };
}

/** @param read settles when the editor has read a message */
async function followed(read: () => Promise<void> = async () => {}) {
  let came: (err: Error | null, message: Msg) => void = () => {};
  const subscribe = (_subject: string, { callback }: { readonly callback: typeof came }) => {
    came = callback;
    return { unsubscribe: () => {} };
  };
  const bus = { nc: { subscribe, flush: async () => {} } } as unknown as Bus;
  const sent: Sent[] = [];
  const writable = new WritableStream({
    write: (message) => {
      sent.push(message as Sent);
      return read();
    },
  });
  const output = new EditorOutput(writable as never);
  const follows = new FollowedLane(bus, lane, output);
  await follows.follow(new AbortController().signal);
  return {
    follows,
    /** Publishes an update as a relay does. */
    publish: (epoch: string, seq: number, text: string, id = "w") => {
      const body = JSON.stringify(update(epoch, seq, text, id));
      came(null, { string: () => body, data: Buffer.from(body) } as unknown as Msg);
    },
    said: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return sent.map(
        ({ params: { update: shown } }) =>
          `${shown.sessionUpdate.includes("user") ? "e" : shown.sessionUpdate[6]} ${shown.content.text}`,
      );
    },
    gaps: () => sent.flatMap(({ params }) => params._meta.relay["gap"] ?? []),
  };
}

function update(epoch: string, seq: number, text: string, id: string) {
  const payload = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
  return { id, session_id: "s", type: "progress.agent_message_chunk", payload, epoch, seq };
}

it("shows updates in order and once, and reports missing ones, including those of the next agent", async () => {
  const { publish, said, gaps } = await followed();
  for (const seq of [7, 8, 8, 11, 12]) publish("a", seq, `a${seq}`);
  for (const seq of [3, 4]) publish("b", seq, `b${seq}`);
  expect(await said()).toEqual([
    ...["m a7", "m a8", "t [relay: updates are missing: 9 to 10]", "m a11", "m a12"],
    ...["t [relay: updates are missing: 1 to 2]", "m b3", "m b4"],
  ]);
  expect(gaps()).toEqual([
    { epoch: "a", first: 9, to: 10 },
    { epoch: "b", first: 1, to: 2 },
  ]);
});

it("reports the updates that an editor was too slow for, even if none follow", async () => {
  const goOn = Promise.withResolvers<void>();
  const { follows, publish, said, gaps } = await followed(() => goOn.promise);
  publish("a", 1, "x".repeat(5 * 1024 * 1024));
  for (const seq of [2, 3]) publish("a", seq, "lost");
  publish("b", 1, "lost too");
  goOn.resolve();
  expect((await said()).map((each) => each.slice(0, 40))).toEqual([
    `m ${"x".repeat(38)}`,
    "t [relay: updates are missing: 2 to 3]",
    "t [relay: updates are missing: 1]",
  ]);
  expect(gaps()).toEqual([
    { epoch: "a", first: 2, to: 3 },
    { epoch: "b", first: 1, to: 1 },
  ]);
  follows.reportDropped();
  publish("b", 2, "on");
  expect((await said()).slice(3)).toEqual(["m on"]);
});

it("reports the updates that it could not hold", async () => {
  const { follows, publish, said, gaps } = await followed();
  follows.hold();
  for (let seq = 1; seq <= 5000; seq++) publish("a", seq, `a${seq}`);
  follows.show([]);
  expect((await said()).slice(-2)).toEqual(["t [relay: updates are missing: 4096 to 4999]", "m a5000"]);
  expect(gaps()).toEqual([{ epoch: "a", first: 4096, to: 4999 }]);
});

it("shows the kept updates before newer ones, and none twice", async () => {
  const { follows, publish, said } = await followed();
  follows.hold();
  for (const seq of [2, 3]) publish("a", seq, `a${seq}`);
  expect(await said()).toEqual([]);
  const prompt = { id: "w", type: "prompt", payload: { prompt: [{ type: "text", text: "hello" }] } };
  follows.show([prompt, update("a", 1, "a1", "w"), update("a", 2, "a2", "w")] as never);
  expect(await said()).toEqual(["m hello", "m a1", "m a2", "m a3"].map((each, i) => (i === 0 ? "e hello" : each)));
});

it("knows the text that it has shown for a piece of work, unless part of it is missing", async () => {
  const { follows, publish } = await followed();
  follows.note("w2");
  publish("a", 1, "of another", "w1");
  publish("a", 2, "one ", "w2");
  publish("a", 3, "two", "w2");
  expect(follows.shownText).toBe("one two");
  publish("a", 5, "four", "w2");
  expect(follows.shownText).toBeUndefined();
});
