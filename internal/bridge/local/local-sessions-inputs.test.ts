import { describe, expect, it } from "vitest";
import {
  alice,
  bob,
  clock,
  key,
  kindOf,
  never,
  provider,
  read,
  sessions,
  startLocal,
  stop,
  subscriber,
  types,
  useLocalSessions,
} from "../../../test/support/bridge/local-sessions-bed.ts";
import { settle } from "../../../test/support/fake-clock.ts";
import { EventType } from "../../gen/bridge/v1/bridge_pb.ts";

useLocalSessions();

describe("an input", () => {
  const send = (text: string, idempotencyKey = "", caller: typeof alice | typeof bob = alice) =>
    sessions.sendInput(key(), { text, idempotencyKey }, caller, never);

  it("is reported with its number and its outcome", async () => {
    await startLocal();
    expect(await send("hello", "k1")).toEqual({ outcome: "submitted", seq: 2n, error: "" });
    const events = await read();
    expect(types(events)).toEqual(["SESSION_STARTED", "INPUT_RECEIVED", "NUDGE_RECEIPT", "STDOUT"]);
    expect(events[1]).toMatchObject({ requestId: "k1", text: "hello", seq: 2n });
    expect(events.find(({ type }) => type === EventType.NUDGE_RECEIPT)).toMatchObject({
      requestId: "k1",
      receipt: { sender: "prd/alice" },
    });
  });

  it("with a used key is delivered once, even if both arrive at once", async () => {
    await startLocal();
    const answers = await Promise.all([send("hello", "k1"), send("hello", "k1", bob), send("hello", "k1")]);
    expect(answers).toEqual(Array(3).fill({ outcome: "submitted", seq: 2n, error: "" }));
    expect(provider.agents[0]?.inputs).toHaveLength(1);
    expect(await kindOf(send("another", "k1"))).toBe("already-exists");
  });

  it("that is queued ends when the agent takes it", async () => {
    await startLocal();
    const [agent] = provider.agents;
    if (agent) agent.outcome = { outcome: "queued", error: "" };
    expect(await send("later", "k1")).toMatchObject({ outcome: "queued" });
    expect(types(await read())).not.toContain("NUDGE_RECEIPT");
    agent?.say({ type: "input-settled", requestId: "k1", result: { outcome: "submitted", error: "" } });
    expect(types(await read())).toContain("NUDGE_RECEIPT");
    expect(await send("later", "k1")).toMatchObject({ outcome: "submitted" });
  });

  it("that is queued when the agent dies has its receipt before the last event", async () => {
    await startLocal();
    const [agent] = provider.agents;
    if (agent) agent.outcome = { outcome: "queued", error: "" };
    await send("later", "k1");
    agent?.end("exit code 1");
    await settle();
    expect(types(await read()).slice(-2)).toEqual(["NUDGE_RECEIPT", "SESSION_FAILED"]);
  });

  it("waits while the session starts, and is refused if it does not run", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    provider.startHold = promise;
    void startLocal();
    await settle();
    const sent = send("hello");
    resolve();
    expect(await sent).toMatchObject({ outcome: "submitted" });
    await sessions.stop(key(), { force: true });
    expect(await kindOf(send("hello"))).toBe("precondition");
  });

  it("is refused while 50 inputs wait for the agent", async () => {
    await startLocal();
    const [agent] = provider.agents;
    if (agent) agent.hold = new Promise(() => {});
    for (let i = 0; i < 50; i++) void send(`text ${i}`).catch(() => {});
    await settle();
    expect(await kindOf(send("one more"))).toBe("exhausted");
  });
});

describe("positions", () => {
  it("belong to the caller and its subscriber_id", async () => {
    await startLocal();
    for (let i = 0; i < 5; i++) {
      provider.agents[0]?.print(`${i}\n`);
      await clock.advance(200);
    }
    const { epoch } = sessions.get(key()) as { epoch: string };
    await sessions.ack(key(), { subscriber: "ui", seq: 4n, epoch }, alice, never);
    const firstOf = async (caller: typeof alice | typeof bob, subscriberId: string) => {
      const target = subscriber();
      const leave = new AbortController();
      const feed = await sessions.events(key(), { subscriber: subscriberId, epoch }, caller, never);
      const piped = feed.pipe(target, leave.signal).catch(() => {});
      await settle();
      leave.abort();
      await piped;
      return target.events[0]?.seq;
    };
    expect(await firstOf(alice, "ui")).toBe(5n);
    expect(await firstOf(bob, "ui")).toBe(1n);
    expect(await firstOf(alice, "other")).toBe(1n);
  });

  it("of another epoch or after the last event are refused with the current epoch and number", async () => {
    await startLocal();
    const { epoch } = sessions.get(key()) as { epoch: string };
    const open = (after: bigint, given: string) =>
      sessions.events(key(), { subscriber: "", epoch: given, after }, alice, never).catch((err: unknown) => err);
    const fields = { epoch, head: "1" };
    expect(await open(0n, "stale")).toMatchObject({ kind: "precondition", fields });
    expect(await open(2n, epoch)).toMatchObject({ kind: "precondition", fields });
    const ack = (seq: bigint, given: string, name = "ui") =>
      kindOf(sessions.ack(key(), { subscriber: name, seq, epoch: given }, alice, never));
    expect(await ack(2n, epoch)).toBe("precondition");
    expect(await ack(1n, "")).toBe("invalid");
    expect(await ack(1n, epoch, "")).toBe("invalid");
  });
});

describe("watching", () => {
  it("reports the changes of the project's sessions, only the latest of many, and their removal", async () => {
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { type, session } of sessions.changes("p1", stop.signal))
        seen.push(`${session.id} ${type === "gone" ? type : session.status}`);
    })().catch(() => {});
    await startLocal("s1");
    await startLocal("x", { project: "p2" });
    await settle();
    await sessions.stop(key(), { force: false });
    await clock.advance(5000);
    expect(seen.at(0)).toBe("s1 starting");
    expect(seen).toContain("s1 running");
    expect(seen.slice(-2)).toEqual(["s1 stopped", "s1 gone"]);
    expect(seen.join()).not.toContain("x");
    stop.abort();
    await watching;
  });
});
