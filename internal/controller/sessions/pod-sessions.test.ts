import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FakeKube } from "../../../test/fakes/fake-kube.ts";
import {
  caller,
  comesToBe,
  type FakeSidecar,
  RETENTION_MS,
  Replica,
  type ReplicaOptions,
  startOf as request,
  townCa,
} from "../../../test/support/cluster/session-replica.ts";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { IssuingCa } from "../certificates/session-certificate.ts";
import { ANNOTATIONS, CERTIFICATE_GATE } from "../pods/names.ts";
import { observePod } from "../pods/observed-pod.ts";

const PODS = "/api/v1/namespaces/agents/pods";
const SECRETS = "/api/v1/namespaces/agents/secrets";
const never = new AbortController().signal;

describe("sessions that are pods", () => {
  let ca: IssuingCa;
  let clock: FakeClock;
  let kube: FakeKube;
  let sidecar: FakeSidecar;
  let replicas: Replica[];

  beforeAll(async () => {
    ca = await townCa(new FakeClock().now());
  });
  beforeEach(() => {
    clock = new FakeClock();
    kube = new FakeKube(() => clock.now());
    sidecar = { alive: true, calls: [] };
    replicas = [];
  });
  afterEach(async () => {
    await Promise.all(replicas.map((each) => each.end()));
    expect(clock.sleeping).toBe(0);
  });

  async function replica(options: ReplicaOptions = {}): Promise<Replica> {
    const made = new Replica({ kube, clock, ca, sidecar }, options);
    replicas.push(made);
    await holds(() => made.pods.isSynced);
    return made;
  }
  const holds = (isSo: () => boolean, limitMs?: number) => comesToBe(clock, isSo, limitMs);
  async function settled<T>(promise: Promise<T>): Promise<PromiseSettledResult<T>> {
    let result: PromiseSettledResult<T> | undefined;
    void Promise.allSettled([promise]).then(([each]) => {
      result = each;
    });
    await holds(() => result !== undefined);
    return result as PromiseSettledResult<T>;
  }
  async function done<T>(promise: Promise<T>): Promise<T> {
    await settled(promise);
    return promise;
  }
  const thePod = () => kube.list(PODS)[0] ?? { metadata: { name: "none" } };
  const pod = () => observePod(thePod());
  /** What the kubelet would say. */
  function runs(status: object = {}): void {
    const statuses = [{ name: "agent", ready: true, started: true, restartCount: 0, state: { running: {} } }];
    const conditions = [{ type: "Ready", status: "True" }];
    const running = { phase: "Running", podIP: "10.0.0.1", conditions, containerStatuses: statuses, ...status };
    kube.set(PODS, { ...thePod(), status: running });
  }
  function expectWholeSession(): void {
    expect(kube.list(PODS)).toHaveLength(1);
    expect(kube.list(SECRETS).map(({ metadata }) => metadata.ownerReferences?.[0]?.uid)).toEqual([pod().uid]);
    expect(pod().gates).toEqual([]);
  }

  it("starts: one pod whose gate is open, and its Secret owned by it", async () => {
    const { sessions } = await replica();
    const info = await done(sessions.start(request("one", { agentOpts: { model: "small" } }), caller, never));
    expect(info).toMatchObject({
      id: "one",
      project: "shop",
      provider: "demo",
      status: "starting",
      agentOpts: { model: "small" },
    });
    expectWholeSession();
    expect(sessions.get({ project: "shop", id: "one" })).toMatchObject({ status: "starting", repoPath: "/workspace" });
  });

  it("start many times at a time on three replicas as one pod", async () => {
    const all = [await replica(), await replica(), await replica({ leads: true })];
    const starts = Array.from({ length: 12 }, (_, i) => all[i % 3]?.sessions.start(request("one"), caller, never));
    const results = await settled(Promise.allSettled(starts));
    const outcomes = results.status === "fulfilled" ? results.value : [];
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["fulfilled"]));
    expectWholeSession();
  });

  it("refuse other parameters, another id's pod in the way, and the id of a session that has ended", async () => {
    const { sessions, pods } = await replica();
    await done(sessions.start(request("one"), caller, never));
    const other = sessions.start(request("one", { repoPath: "/workspace/a" }), caller, never);
    await expect(done(other)).rejects.toMatchObject({ kind: "already-exists" });
    const annotations = {
      ...(thePod().metadata["annotations"] as object),
      [ANNOTATIONS.stoppedAt]: new Date(clock.now()).toISOString(),
    };
    kube.set(PODS, { ...thePod(), metadata: { ...thePod().metadata, annotations } });
    await holds(() => pods.get(request("one"))?.pod.annotations[ANNOTATIONS.stoppedAt] !== undefined);
    await expect(done(sessions.start(request("one"), caller, never))).rejects.toMatchObject({ kind: "precondition" });
  });

  it("say what the cluster refuses", async () => {
    const { sessions } = await replica();
    const message = 'pods "x" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=1, limited: pods=1';
    kube.fault = ({ method }) => (method === "POST" ? { status: 403, reason: "Forbidden", message } : undefined);
    const start = sessions.start(request("one"), caller, never);
    await expect(done(start)).rejects.toMatchObject({ kind: "exhausted", fields: { reason: "QuotaExceeded" } });
    kube.fault = ({ method }) =>
      method === "POST"
        ? { status: 403, reason: "Forbidden", message: 'pods "x" is forbidden: violates PodSecurity "restricted"' }
        : undefined;
    const again = sessions.start(request("one"), caller, never);
    await expect(done(again)).rejects.toMatchObject({ kind: "precondition", fields: { reason: "PodSecurity" } });
  });

  it.each([1, 2])(
    "leave neither a double nor an orphan when the process ends after %i writes of a start",
    async (writes) => {
      const first = await replica();
      first.writesLeft = writes;
      const started = await settled(first.sessions.start(request("one"), caller, never));
      expect(started.status).toBe("rejected");
      await first.end();
      expect(pod().gates).toEqual([CERTIFICATE_GATE]);
      await replica({ leads: true });
      await holds(() => pod().gates.length === 0);
      expectWholeSession();
    },
  );

  it("are not opened by a replica that does not lead", async () => {
    const first = await replica();
    first.writesLeft = 1;
    await settled(first.sessions.start(request("one"), caller, never));
    await replica();
    await clock.advance(30_000);
    expect(pod().gates).toEqual([CERTIFICATE_GATE]);
  });

  it("hold the limit of a project with starts on three replicas at a time", async () => {
    const all = [
      await replica({ maxPerProject: 5 }),
      await replica({ maxPerProject: 5 }),
      await replica({ maxPerProject: 5 }),
    ];
    const starts = Array.from({ length: 15 }, (_, i) => all[i % 3]?.sessions.start(request(`s${i}`), caller, never));
    const results = await settled(Promise.allSettled(starts));
    const outcomes = results.status === "fulfilled" ? results.value : [];
    const started = outcomes.filter(({ status }) => status === "fulfilled").length;
    expect(started).toBeLessThanOrEqual(5);
    expect(kube.list(PODS)).toHaveLength(started);
    const reasons = outcomes.flatMap((each) => (each.status === "rejected" ? [(each.reason as DomainError).kind] : []));
    expect(new Set(reasons)).toEqual(new Set(["exhausted"]));
  });

  it("are running once the sidecar has answered that its agent lives, not before", async () => {
    const { sessions } = await replica();
    await done(sessions.start(request("one"), caller, never));
    sidecar.alive = false;
    runs();
    await clock.advance(5_000);
    expect(sessions.get(request("one"))?.status).toBe("starting");
    expect(() => sessions.terminal(request("one"))).toThrow("is starting");
    sidecar.alive = true;
    await holds(() => sessions.get(request("one"))?.status === "running");
  });

  it("stop: the agent first, then the retention, then the pod and its Secret go", async () => {
    const one = await replica({ leads: true });
    await done(one.sessions.start(request("one"), caller, never));
    runs();
    await holds(() => one.sessions.get(request("one"))?.status === "running");
    expect(await done(one.sessions.stop(request("one"), { force: false }, caller, never))).toMatchObject({
      status: "stopping",
    });
    await holds(() => one.sessions.get(request("one"))?.status === "stopped");
    expect(sidecar.calls).toContain("StopAgent");
    const { uid } = pod();
    await clock.advance(RETENTION_MS - 30_000);
    expect(pod().uid).toBe(uid);
    await holds(() => kube.list(PODS).length === 0);
    expect(kube.list(SECRETS)).toEqual([]);
    await holds(() => one.sessions.get(request("one")) === undefined);
  });

  it.each([1])("are stopped by the leader when the process ends after %i write of a stop", async (writes) => {
    const first = await replica();
    await done(first.sessions.start(request("one"), caller, never));
    runs();
    await holds(() => first.sessions.get(request("one"))?.status === "running");
    first.writesLeft = writes;
    sidecar.fails = new DomainError("unavailable", "gone");
    await settled(first.sessions.stop(request("one"), { force: false }, caller, never));
    await first.end();
    delete sidecar.fails;
    const second = await replica({ leads: true });
    expect(second.sessions.get(request("one"))?.status).toBe("stopping");
    await holds(() => second.sessions.get(request("one"))?.status === "stopped");
    expect(kube.list(PODS)).toHaveLength(1);
  });

  it("that never ran are deleted by a stop", async () => {
    const { sessions } = await replica();
    await done(sessions.start(request("one"), caller, never));
    await done(sessions.stop(request("one"), { force: false }, caller, never));
    await holds(() => kube.list(PODS).length === 0);
    expect(sidecar.calls).not.toContain("StopAgent");
  });

  it("whose sidecar cannot be told are deleted by a stop, for the kubelet ends the agent too", async () => {
    const { sessions } = await replica();
    await done(sessions.start(request("one"), caller, never));
    runs();
    await holds(() => sessions.get(request("one"))?.status === "running");
    sidecar.fails = new DomainError("unavailable", "no route");
    await done(sessions.stop(request("one"), { force: false }, caller, never));
    await holds(() => kube.list(PODS).length === 0);
  });

  it("are of one project only, the oldest first, and tell their changes", async () => {
    const { sessions } = await replica();
    const seen: string[] = [];
    const stop = new AbortController();
    const reading = (async () => {
      for await (const { type, session } of sessions.changes("shop", stop.signal))
        seen.push(`${type} ${session.id} ${session.status}`);
    })().catch(() => {});
    for (const id of ["b", "a"]) {
      await done(sessions.start(request(id), caller, never));
      await clock.advance(1_000);
    }
    expect(sessions.list("shop").map(({ id }) => id)).toEqual(["b", "a"]);
    expect(sessions.list("other")).toEqual([]);
    expect(sessions.get({ project: "other", id: "a" })).toBeUndefined();
    expect(seen).toContain("changed b starting");
    stop.abort();
    await reading;
  });

  it("are not answered for before the cluster was read", async () => {
    kube.fault = () => ({ status: 503 });
    const made = new Replica({ kube, clock, ca, sidecar });
    replicas.push(made);
    await settle();
    const unavailable = expect.objectContaining({ kind: "unavailable" });
    expect(() => made.sessions.get(request("one"))).toThrow(unavailable);
    await expect(made.sessions.start(request("one"), caller, never)).rejects.toEqual(unavailable);
  });

  it("made by others are none without adoption, and never take the place of ours", async () => {
    const { sessions, pods } = await replica();
    await done(sessions.start(request("one"), caller, never));
    const labels = { "gastown.io/agent": "x", "gastown.io/session": "one" };
    kube.set(PODS, { metadata: { name: "foreign", labels } });
    await holds(() => kube.list(PODS).length === 2);
    expect(pods.get(request("one"))?.pod.name).not.toBe("foreign");
    expect(sessions.list("shop")).toHaveLength(1);
  });
});
