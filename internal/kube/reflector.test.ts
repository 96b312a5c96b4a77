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
  startReflector,
  storedKeys,
  useReflectorBed,
  watches,
} from "../../test/support/cluster/reflector-bed.ts";

describe("a reflector", () => {
  it("reads pages of 250, is synced after the last, and follows changes", async () => {
    for (let i = 0; i < 600; i++) pod(`p${i}`, "up");
    await startReflector();
    expect(lists().map((request) => request.query?.["limit"])).toEqual([250, 250, 250]);
    expect(reflector.isSynced).toBe(true);
    expect(deltas).toHaveLength(600);
    pod("p0", "down");
    kube.delete(PODS_PATH, "p1");
    pod("new", "up");
    await reflectorSettled();
    expect(deltas.slice(600)).toEqual(["changed a/p0 uid-1 down", "removed a/p1 uid-2 up", "added a/new uid-601 up"]);
    expect(storedKeys()).toEqual(cluster());
  });

  it("requests its selectors, bookmarks, and an end after 300 to 600 s", async () => {
    await startReflector({ labelSelector: "gastown.io/agent", fieldSelector: "metadata.name=x" });
    const selectors = { labelSelector: "gastown.io/agent", fieldSelector: "metadata.name=x" };
    expect(lists()[0]?.query).toEqual({ ...selectors, limit: 250 });
    expect(watches()[0]?.query).toEqual({
      ...selectors,
      watch: true,
      allowWatchBookmarks: true,
      resourceVersion: "1",
      timeoutSeconds: 450,
    });
  });

  it("resumes at once from the last event or bookmark when the server ends a watch", async () => {
    await startReflector();
    pod("a", "up");
    await clock.advance(60_000);
    kube.watches[0]?.close();
    await reflectorSettled();
    pod("b", "up");
    await reflectorSettled();
    kube.bookmark();
    await clock.advance(60_000);
    kube.watches[0]?.close();
    await reflectorSettled();
    expect(watches().map((request) => request.query?.["resourceVersion"])).toEqual(["1", "2", "4"]);
    expect(lists()).toHaveLength(1);
    expect(storedKeys()).toEqual(["a/a up", "a/b up"]);
  });

  it.each([
    ["a reset", () => kube.watches[0]?.reset()],
    ["half a line", () => kube.watches[0]?.raw('{"type":"ADDED","obj').reset()],
    ["a line that is not JSON", () => kube.watches[0]?.raw("{\n")],
    ["a line that is not an event", () => kube.watches[0]?.raw('{"type":"NEW","object":{}}\n')],
    ["an error in the stream", () => kube.watches[0]?.send({ type: "ERROR", object: { code: 500, message: "boom" } })],
    ["an end within a second", () => kube.watches[0]?.close()],
  ])("survives %s and misses nothing", async (_, harm) => {
    pod("a", "up");
    await startReflector();
    harm();
    await reflectorSettled();
    pod("b", "up");
    kube.delete(PODS_PATH, "a");
    await clock.advance(1_199);
    expect(watches()).toHaveLength(1);
    await clock.advance(1);
    expect(watches()).toHaveLength(2);
    expect(deltas.slice(1)).toEqual(["added a/b uid-2 up", "removed a/a uid-1 up"]);
    expect(lists()).toHaveLength(1);
  });

  it.each([
    ["an HTTP 410", () => kube.watches[0]?.reset()],
    ["a 410 in the stream", () => kube.watches[0]?.send({ type: "ERROR", object: { code: 410, reason: "Expired" } })],
    [
      "a resourceVersion that is too large",
      () => {
        const message = "Too large resource version: 9, current: 5";
        kube.watches[0]?.send({ type: "ERROR", object: { code: 504, reason: "Timeout", message } });
      },
    ],
  ])("lists again after %s, and reports objects that were deleted or changed meanwhile", async (_, harm) => {
    for (const name of ["a", "b", "c"]) pod(name, "up");
    await startReflector();
    kube.changeUnseen(() => {
      kube.delete(PODS_PATH, "a");
      pod("b", "down");
      pod("d", "up");
    });
    kube.compact();
    deltas.length = 0;
    harm();
    await clock.advance(30_000);
    expect(deltas).toEqual(["removed a/a uid-1 up", "changed a/b uid-2 down", "added a/d uid-4 up"]);
    expect(storedKeys()).toEqual(cluster());
    expect(reflector.isSynced).toBe(true);
  });

  it("lists at once if the version of a quiet collection has expired", async () => {
    await startReflector();
    await clock.advance(60_000);
    kube.bookmark();
    await clock.advance(20_000);
    kube.compact();
    kube.watches[0]?.send({ type: "ERROR", object: { code: 410 } });
    await clock.advance(0);
    expect(lists()).toHaveLength(2);
    expect(reflector.counts.failures).toBe(0);
  });

  it("keeps trying if the list fails after a 410, and keeps its objects", async () => {
    pod("a", "up");
    await startReflector();
    kube.compact();
    kube.fault = (request) => (isWatch(request) ? undefined : { status: 503 });
    kube.watches[0]?.send({ type: "ERROR", object: { code: 410 } });
    await clock.advance(600_000);
    expect(storedKeys()).toEqual(["a/a up"]);
    expect(reflector.staleMs).toBe(600_000);
    kube.fault = () => undefined;
    pod("b", "up");
    await clock.advance(30_000);
    expect(storedKeys()).toEqual(["a/a up", "a/b up"]);
    expect(reflector.staleMs).toBeLessThan(30_000);
  });

  it("backs off from 0.8 s to 30 s, with at most one request a second, and starts over after two healthy minutes", async () => {
    await startReflector();
    kube.fault = () => "reset";
    kube.watches[0]?.reset();
    const times: number[] = [];
    for (let before = kube.requests.length; times.length < 9; await clock.advance(100)) {
      if (kube.requests.length > before) times.push(clock.monotonicMs());
      before = kube.requests.length;
    }
    const pauses = times.slice(1).map((time, i) => time - (times[i] ?? 0));
    expect(pauses).toEqual([2_400, 4_800, 9_600, 19_200, 30_000, 30_000, 30_000, 30_000]);
    kube.fault = () => undefined;
    for (let i = 0; i < 3; i++) {
      await clock.advance(50_000);
      kube.bookmark();
    }
    const before = watches().length;
    kube.watches[0]?.reset();
    await clock.advance(1_200);
    expect(watches()).toHaveLength(before + 1);
  });

  it("waits as long as Retry-After says", async () => {
    kube.fault = () => ({ status: 429, retryAfterMs: 20_000 });
    await startReflector();
    kube.fault = () => undefined;
    await clock.advance(19_999);
    expect(kube.requests).toHaveLength(1);
    await clock.advance(1);
    expect(reflector.isSynced).toBe(true);
  });

  it("is away from a failed attempt until the server answers, which hurry() makes sooner", async () => {
    await startReflector();
    kube.fault = () => "reset";
    kube.watches[0]?.reset();
    await clock.advance(60_000);
    expect(reflector.isAway).toBe(true);
    expect(reflector.staleMs).toBe(60_000);
    kube.fault = () => undefined;
    const before = watches().length;
    reflector.hurry();
    await clock.advance(1_000);
    reflector.hurry();
    await reflectorSettled();
    expect(watches()).toHaveLength(before + 1);
    expect(reflector.isAway).toBe(false);
  });

  it.each([
    ["an event", () => void pod("b", "up")],
    ["a bookmark", () => kube.bookmark()],
  ])("is away, although a watch is open, until %s arrives", async (_, arrive) => {
    await startReflector();
    kube.watches[0]?.reset();
    await clock.advance(1_200);
    expect(kube.watches).toHaveLength(1);
    await clock.advance(30_000);
    expect(reflector.isAway).toBe(true);
    arrive();
    await reflectorSettled();
    expect(reflector.isAway).toBe(false);
    expect(lists()).toHaveLength(1);
  });

  it("is away, although a watch is open, from an unanswered urgent call until it has caught up", async () => {
    await startReflector();
    await clock.advance(10_000);
    expect(reflector.isAway).toBe(false);
    kube.changeUnseen(() => pod("b", "up"));
    kube.unansweredAtMs = clock.monotonicMs();
    await clock.advance(5_000);
    expect(reflector.isAway).toBe(true);
    reflector.hurry();
    await reflectorSettled();
    expect(storedKeys()).toEqual(cluster());
    expect(reflector.isAway).toBe(false);
  });

  it("replaces a watch that brings nothing with a list once hurry() asks for missed changes", async () => {
    await startReflector();
    kube.watches[0]?.reset();
    await clock.advance(1_200);
    const { failures } = reflector.counts;
    kube.changeUnseen(() => pod("b", "up"));
    reflector.hurry();
    await reflectorSettled();
    expect(lists()).toHaveLength(1);
    await clock.advance(1_000);
    reflector.hurry();
    reflector.hurry();
    await reflectorSettled();
    expect(lists()).toHaveLength(2);
    expect(storedKeys()).toEqual(cluster());
    expect(reflector.isAway).toBe(false);
    expect(reflector.counts.failures).toBe(failures);
    await clock.advance(10_000);
    reflector.hurry();
    await reflectorSettled();
    expect(lists()).toHaveLength(2);
    expect(watches()).toHaveLength(3);
  });

  it("does not hurry beyond what the server allows", async () => {
    await startReflector();
    kube.fault = () => ({ status: 429, retryAfterMs: 20_000 });
    kube.watches[0]?.reset();
    await clock.advance(2_000);
    const before = watches().length;
    await clock.advance(10_000);
    reflector.hurry();
    await reflectorSettled();
    expect(watches()).toHaveLength(before);
  });

  it("waits no longer than a minute, whatever Retry-After says", async () => {
    kube.fault = () => ({ status: 503, retryAfterMs: 86_400_000 });
    await startReflector();
    kube.fault = () => undefined;
    await clock.advance(60_000);
    expect(reflector.isSynced).toBe(true);
  });

  it("detects a silent watch within 70 s, and catches up", async () => {
    await startReflector();
    const dead = kube.watches[0];
    if (dead) dead.isSilent = true;
    pod("a", "up");
    await clock.advance(69_999);
    expect(watches()).toHaveLength(1);
    await clock.advance(1 + 1_200);
    expect(storedKeys()).toEqual(["a/a up"]);
    expect(lists()).toHaveLength(1);
  });

  it("accepts bookmarks as a sign of life", async () => {
    await startReflector();
    for (let minute = 0; minute < 9; minute++) {
      await clock.advance(60_000);
      kube.bookmark();
    }
    await reflectorSettled();
    expect(watches()).toHaveLength(1);
  });
});
