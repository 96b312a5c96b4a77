import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ThreadsClient } from "../../internal/threads/client/threads-client.ts";
import type { MemberKind } from "../../internal/threads/domain/types.ts";
import { startThread } from "../support/threads/threads-server.ts";
import { ThreadsWatcher } from "../support/threads/threads-watcher.ts";
import { type Claims, TokenRoom } from "../support/threads/token-room.ts";

const LONG = AbortSignal.timeout(900_000);

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

let room: TokenRoom;
beforeAll(async () => {
  room = await TokenRoom.start();
});
afterAll(async () => {
  await room?.[Symbol.asyncDispose]();
});

type Who = readonly [claims: Claims, kind?: MemberKind];
const as = (agent: string): Who => [{ agent_id: agent, session_id: `s-${agent}` }];
const alice: Who = [{}, "person"];
const person = (n: number): Who => [{ agent_id: `person-${n}`, session_id: `s-${n}` }, "person"];

const options = (who: Who) => room.transportOptions(...who);

const TRANSPORTS: Readonly<Record<string, (who: Who) => Transport>> = {
  "Connect, HTTP/2": (who) => createConnectTransport({ ...options(who), httpVersion: "2" }),
  "Connect JSON, HTTP/1.1": (who) =>
    createConnectTransport({ ...options(who), httpVersion: "1.1", useBinaryFormat: false }),
  "gRPC, HTTP/2": (who) => createGrpcTransport(options(who)),
  "gRPC-Web, HTTP/1.1": (who) => createGrpcWebTransport({ ...options(who), httpVersion: "1.1" }),
};
const connect = (who: Who) => createConnectTransport({ ...options(who), httpVersion: "2" });
const watch = (who: Who, after: Readonly<Record<string, bigint>> = {}) => new ThreadsWatcher(connect(who), after);
const clientOf = (who: Who) => new ThreadsClient({ url: room.server.url, token: () => room.token(...who) });

async function post(who: Who, thread_id: string, ...texts: readonly string[]): Promise<void> {
  using client = clientOf(who);
  for (const text of texts) await client.call("post_message", { thread_id, text }, LONG);
}

async function threadOf(who: Who, title: string, ...agents: readonly string[]): Promise<string> {
  using client = clientOf(who);
  return await startThread(client, title, agents, LONG);
}

describe.concurrent("FR-6: WatchThreads", () => {
  it.each(Object.entries(TRANSPORTS))(
    "sends a person the current state and every change: %s",
    async (name, transport) => {
      const agent = `town/${name.replaceAll(/[^A-Za-z0-9]/g, "-")}`;
      const before = await threadOf(alice, "before", agent);
      await post(alice, before, "old");
      await using watcher = new ThreadsWatcher(transport(alice));
      await watcher.until("the snapshot", () => watcher.kinds.length > 0);
      expect(watcher.kinds[0]).toBe("snapshot");
      const shown = watcher.told("snapshot").flatMap(({ threads }) => threads);
      expect(shown.find((one) => one.threadId === before)).toMatchObject({
        title: "before",
        lastSeq: 1n,
        waiting: [{ agentId: agent, count: 1, from: "alice", seq: 1n, given: false }],
      });
      await watcher.until("its wake", () => watcher.told("wake").some((one) => one.agentId === agent));
      const after = await threadOf(alice, "after", agent);
      await post(as(agent), after, "one", "two");
      await post(as(agent), before, "new");
      await watcher.until("all messages", () => watcher.texts(before).length + watcher.texts(after).length === 3);
      expect([watcher.texts(before), watcher.texts(after)]).toEqual([["new"], ["one", "two"]]);
      using client = clientOf(alice);
      await client.call("escalate_thread", { thread_id: after, reason: "help", severity: "high" }, LONG);
      const state = (threadId: string) => watcher.told("thread").findLast((one) => one.threadId === threadId);
      await client.call("update_thread_status", { thread_id: before, expected_version: 1, status: "closed" }, LONG);
      await watcher.until("the change of status", () => state(before)?.status === "closed");
      await watcher.until("the escalation", () => watcher.told("escalation").some((one) => one.threadId === after));
    },
  );

  it("reports who waits for whom: delivered, acknowledged, and the wake's outcome", async () => {
    const thread = await threadOf(alice, "waits", "town/waited");
    await using watcher = watch(alice);
    await post(alice, thread, "please");
    const waiting = () =>
      watcher
        .told("thread")
        .findLast((one) => one.threadId === thread)
        ?.waiting.map(({ agentId, from, given }) => ({ agentId, from, given }));
    const is = (given: boolean) => JSON.stringify([{ agentId: "town/waited", from: "alice", given }]);
    await watcher.until("it waits", () => JSON.stringify(waiting()) === is(false));
    using waited = clientOf(as("town/waited"));
    await waited.call("read_messages", { thread_id: thread }, LONG);
    await watcher.until("it has been given", () => JSON.stringify(waiting()) === is(true));
    await waited.call("ack_read", { thread_id: thread, seq: 1 }, LONG);
    await watcher.until("it waits no more", () => waiting()?.length === 0);
  });

  it("continues after the caller's position, with each message once and in order", async () => {
    const texts = Array.from({ length: 220 }, (_, index) => `message ${index + 1}`);
    const thread = await threadOf(alice, "long", "town/long");
    // The posts of a person are limited per minute.
    for (let at = 0; at < texts.length; at += 50) await post(person(at), thread, ...texts.slice(at, at + 50));
    await using watcher = watch(alice, { [thread]: 7n });
    await watcher.until("all", () => watcher.texts(thread).length >= texts.length - 7);
    await post(alice, thread, "last");
    await watcher.until("the last", () => watcher.texts(thread).includes("last"));
    expect(watcher.texts(thread)).toEqual([...texts.slice(7), "last"]);
    await using ahead = watch(alice, { [thread]: 10_000n });
    await ahead.until("the snapshot", () => ahead.kinds.length > 0);
    await post(alice, thread, "after that");
    await ahead.until("what comes", () => ahead.texts(thread).length > 0);
    expect(ahead.texts(thread)).toEqual(["after that"]);
  });

  it("sends an agent only its own threads, wakes and escalations, while it is a participant", async () => {
    const own = await threadOf(as("town/lead"), "own", "town/member");
    const strange = await threadOf(as("town/lead"), "strange", "town/other");
    await using watcher = watch(as("town/member"), { [strange]: 0n });
    await watcher.until("the snapshot", () => watcher.kinds.length > 0);
    await post(as("town/lead"), strange, "secret one");
    using lead = clientOf(as("town/lead"));
    await lead.call("escalate_thread", { thread_id: strange, reason: "secret two", severity: "low" }, LONG);
    await post(as("town/lead"), own, "for you");
    await watcher.until("its own", () => watcher.texts(own).length === 1);
    await watcher.until("its wake", () => watcher.told("wake").length > 0);
    expect(new Set(watcher.told("wake").map(({ agentId }) => agentId))).toEqual(new Set(["town/member"]));
    for (const hidden of [strange, "secret", "town/other"]) expect(watcher.all).not.toContain(hidden);
    await lead.call("manage_participants", { thread_id: strange, add: [{ agent_id: "town/member" }] }, LONG);
    await watcher.until("the thread that it joins, whole", () => watcher.texts(strange).includes("secret one"));
    await lead.call("manage_participants", { thread_id: strange, remove: ["town/member"] }, LONG);
    const before = watcher.texts(strange).length;
    await post(as("town/lead"), strange, "behind its back");
    await post(as("town/lead"), own, "to the end");
    await watcher.until("its own", () => watcher.texts(own).includes("to the end"));
    expect(watcher.texts(strange)).toHaveLength(before);
  });

  it("refuses an invalid position, and sends heartbeats while nothing happens", async () => {
    await using wrong = watch(alice, { t: -1n });
    expect(await wrong.ended).toMatchObject({ kind: "invalid", fields: { code: "VALIDATION_ERROR" } });
    await using watcher = watch(as("town/quiet"));
    await watcher.until("a heartbeat", () => watcher.told("heartbeat").length > 0);
  });
});
