import { describe, expect, it } from "vitest";

useReflectorBed();

import {
  clock,
  cluster,
  deltas,
  isWatch,
  kube,
  lists,
  PODS_PATH,
  pod,
  reflector,
  reflectorSettled,
  running,
  startReflector,
  stop,
  storedKeys,
  useReflectorBed,
  watches,
} from "../../test/support/cluster/reflector-bed.ts";

describe("a reflector", () => {
  it("reports an object that was deleted and created again during a gap as removed and added", async () => {
    pod("a", "up");
    await startReflector();
    kube.changeUnseen(() => {
      kube.delete(PODS_PATH, "a");
      pod("a", "up");
    });
    kube.compact();
    kube.watches[0]?.send({ type: "ERROR", object: { code: 410 } });
    await clock.advance(2_000);
    expect(deltas).toEqual(["added a/a uid-1 up", "removed a/a uid-1 up", "added a/a uid-2 up"]);
  });

  it("keeps the new object if the old one's deletion arrives late or twice", async () => {
    const old = pod("a", "up");
    await startReflector();
    kube.delete(PODS_PATH, "a");
    pod("a", "new");
    kube.watches[0]?.send({ type: "DELETED", object: old });
    await reflectorSettled();
    expect(storedKeys()).toEqual(["a/a new"]);
  });

  it("reports a duplicate event once", async () => {
    await startReflector();
    const object = pod("a", "up");
    kube.watches[0]?.send({ type: "ADDED", object });
    await reflectorSettled();
    expect(deltas).toEqual(["added a/a uid-1 up"]);
  });

  it("drops an object that its projection no longer keeps", async () => {
    const project = (object: unknown) => {
      const { status } = object as { readonly status: string };
      return status === "hidden" ? undefined : status;
    };
    pod("a", "up");
    pod("b", "hidden");
    await startReflector({ project });
    pod("a", "hidden");
    await reflectorSettled();
    expect(deltas).toEqual(["added a/a uid-1 up", "removed a/a uid-1 up"]);
  });

  it("continues if a handler throws", async () => {
    await startReflector();
    const push = deltas.push;
    deltas.push = () => {
      throw new Error("handler");
    };
    pod("a", "up");
    await reflectorSettled();
    deltas.push = push;
    pod("b", "up");
    await reflectorSettled();
    expect(storedKeys()).toEqual(["a/a up", "a/b up"]);
    expect(watches()).toHaveLength(1);
  });

  it("reports changes strictly in the order of the server", async () => {
    await startReflector();
    const expected: string[] = [];
    for (let i = 0; i < 200; i++) {
      pod("a", `s${i}`);
      expected.push(`${i === 0 ? "added" : "changed"} a/a uid-1 s${i}`);
    }
    kube.delete(PODS_PATH, "a");
    await reflectorSettled();
    expect(deltas).toEqual([...expected, "removed a/a uid-1 s199"]);
  });

  it("reads a line that arrives in pieces, split inside a character", async () => {
    await startReflector();
    const object = { metadata: { name: "ü", uid: "u", resourceVersion: "9" }, status: "up" };
    const line = Buffer.from(`${JSON.stringify({ type: "ADDED", object })}\n`);
    const middle = line.indexOf(0xc3) + 1;
    kube.watches[0]?.raw(line.subarray(0, middle));
    await reflectorSettled();
    kube.watches[0]?.raw(line.subarray(middle));
    await reflectorSettled();
    expect(deltas).toEqual(["added ü u up"]);
  });

  it("accepts an event of 10 MB that arrives slowly, and cuts a watch whose line does not end", async () => {
    await startReflector();
    const filler = "x".repeat(10 << 20);
    const object = { metadata: { name: "big", uid: "u", resourceVersion: "9", filler }, status: "up" };
    const line = Buffer.from(`${JSON.stringify({ type: "ADDED", object })}\n`);
    for (let at = 0; at < line.length; at += 1 << 16) {
      kube.watches[0]?.raw(line.subarray(at, at + (1 << 16)));
      if (at % (1 << 21) === 0) await clock.advance(1_000);
    }
    await reflectorSettled();
    expect(deltas).toEqual(["added big u up"]);
    kube.watches[0]?.raw(`{"type":"${filler}`).raw(filler);
    await clock.advance(1_200);
    expect(watches()).toHaveLength(2);
    expect(lists()).toHaveLength(1);
  });

  it("lists again if three watches in a row break without an event", async () => {
    await startReflector();
    for (let i = 0; i < 3; i++) {
      kube.watches[0]?.raw("{\n");
      await clock.advance(30_000);
    }
    expect(lists()).toHaveLength(2);
  });

  it("stops during a list and leaves no watch open", async () => {
    kube.fault = () => "hang";
    await startReflector();
    stop.abort(new Error("stopped"));
    await running;
    expect(watches()).toEqual([]);
  });

  it("finds by its audit what the watch never reported, counts it, and repairs it", async () => {
    pod("a", "up");
    pod("b", "up");
    await startReflector();
    kube.changeUnseen(() => {
      kube.delete(PODS_PATH, "a");
      pod("b", "down");
      pod("c", "up");
    });
    for (let passed = 0; passed < 1_215_000; passed += 45_000) {
      await clock.advance(45_000);
      kube.bookmark();
    }
    expect(reflector.counts.missed).toBe(3);
    await clock.advance(2_000);
    expect(storedKeys()).toEqual(cluster());
  });

  it("does not count changes during the audit as missed", async () => {
    for (const name of ["a", "b"]) pod(name, "up");
    await startReflector();
    let isAudit = false;
    kube.after = (request) => {
      if (isWatch(request) || !isAudit) return;
      pod("a", "down");
      kube.delete(PODS_PATH, "b");
      pod("c", "up");
    };
    isAudit = true;
    for (let passed = 0; passed < 1_260_000; passed += 45_000) {
      await clock.advance(45_000);
      kube.bookmark();
    }
    expect(lists().length).toBeGreaterThanOrEqual(2);
    expect(reflector.counts.missed).toBe(0);
  });
});
