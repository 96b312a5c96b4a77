import { describe, expect, it } from "vitest";
import { eachTown, PODS, type ReplicatedSessions } from "../../../test/support/cluster/replicated-sessions.ts";
import { bindingOf, caller, startOf as request } from "../../../test/support/cluster/session-replica.ts";
import { raceSignal } from "../../base/abort.ts";
import { ANNOTATIONS, LABELS } from "../pods/names.ts";

const never = new AbortController().signal;

describe("sessions whose pods run", () => {
  let town: ReplicatedSessions;
  eachTown((made) => {
    town = made;
  });

  const thePod = () => town.kube.list(PODS)[0] ?? { metadata: { name: "none" } };

  it("are reported as of the moment at which their sidecar answers, not at which it was asked", async () => {
    const { sessions } = await town.replica();
    await town.done(sessions.start(request("one"), caller, never));
    const answer = Promise.withResolvers<void>();
    town.sidecar.before = () => answer.promise;
    town.runs();
    await town.advanceUntil(() => town.sidecar.calls.includes("Status"));
    const told: string[] = [];
    const stop = new AbortController();
    const reading = (async () => {
      for await (const { session } of sessions.changes("shop", stop.signal)) told.push(session.status);
    })().catch(() => {});
    const annotations = { ...(thePod().metadata["annotations"] as object), [ANNOTATIONS.stopRequested]: "2026-01-01" };
    town.kube.set(PODS, { ...thePod(), metadata: { ...thePod().metadata, annotations } });
    await town.clock.advance(100);
    answer.resolve();
    await town.clock.advance(100);
    expect(new Set(told)).toEqual(new Set(["stopping"]));
    stop.abort();
    await reading;
  });

  it("are asked by one call at a time while their sidecar hangs", async () => {
    const { sessions } = await town.replica();
    await town.done(sessions.start(request("one"), caller, never));
    const asked: AbortSignal[] = [];
    town.sidecar.before = (_, __, signal) => {
      asked.push(signal);
      return raceSignal(new Promise(() => {}), signal);
    };
    town.runs();
    await town.clock.advance(60_000);
    expect(asked.length).toBeGreaterThan(10);
    expect(asked.filter(({ aborted }) => !aborted).length).toBeLessThanOrEqual(1);
  });

  it("are asked while those of another project hang", async () => {
    const bindings = [bindingOf("agents", "demo"), { ...bindingOf("more", "demo"), project: "desk" }].map((one) => ({
      ...one,
      adoption: { accounts: [] },
    }));
    const containerStatuses = [{ name: "agent", ready: true, started: true, restartCount: 0, state: { running: {} } }];
    const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }], containerStatuses };
    const labels = (id: string) => ({ [LABELS.agent]: id, [LABELS.session]: id });
    for (let i = 0; i < 100; i++) {
      const metadata = { name: `p${i}`, labels: labels(`s${i}`) };
      town.kube.set(PODS, { metadata, status: { ...status, podIP: "10.0.0.1" } });
    }
    town.sidecar.before = (_, __, signal, url) =>
      url.includes("10.0.0.1:") ? raceSignal(new Promise(() => {}), signal) : undefined;
    const { sessions } = await town.replica({ bindings });
    await town.clock.advance(10_000);
    const pods = "/api/v1/namespaces/more/pods";
    town.kube.set(pods, { metadata: { name: "p", labels: labels("one") }, status: { ...status, podIP: "10.0.0.2" } });
    await town.clock.advance(100);
    expect(sessions.get({ project: "desk", id: "one" })?.status).toBe("running");
  });

  it("are all asked before a replica counts as caught up, whether they answer or not", async () => {
    const first = await town.replica();
    await town.done(first.sessions.start(request("one"), caller, never));
    expect(first.sessions.isCaughtUp).toBe(true);
    town.runs();
    await town.advanceUntil(() => first.sessions.get(request("one"))?.status === "running");
    town.sidecar.before = (_, __, signal) => raceSignal(new Promise(() => {}), signal);
    const { sessions } = await town.replica();
    await town.clock.advance(2_000);
    expect([sessions.get(request("one"))?.status, sessions.isCaughtUp]).toEqual(["starting", false]);
    await town.clock.advance(1_000);
    expect(sessions.isCaughtUp).toBe(true);
  });
});
