import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { eachTown, PODS, type ReplicatedSessions, SECRETS } from "../../../test/support/cluster/replicated-sessions.ts";
import { bindingOf, caller, startOf as request } from "../../../test/support/cluster/session-replica.ts";
import { settle } from "../../../test/support/fake-clock.ts";
import { DomainError } from "../../base/errors.ts";
import { ANNOTATIONS, CERTIFICATE_GATE } from "../pods/names.ts";
import { observePod } from "../pods/observed-pod.ts";

const never = new AbortController().signal;

describe("sessions in pods", () => {
  let town: ReplicatedSessions;
  eachTown((made) => {
    town = made;
  });

  const thePod = () => town.kube.list(PODS)[0] ?? { metadata: { name: "none" } };
  const pod = () => observePod(thePod());
  function expectWholeSession(): void {
    expect(town.kube.list(PODS)).toHaveLength(1);
    expect(town.kube.list(SECRETS).map(({ metadata }) => metadata.ownerReferences?.[0]?.uid)).toEqual([pod().uid]);
    expect(pod().gates).toEqual([]);
  }

  it("start as one pod with an open gate and a Secret of its own", async () => {
    const { sessions } = await town.replica();
    const info = await town.done(sessions.start(request("one", { agentOpts: { model: "small" } }), caller, never));
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

  it("start as one pod if three replicas are asked many times at once", async () => {
    const all = [await town.replica(), await town.replica(), await town.replica({ leads: true })];
    const starts = Array.from({ length: 12 }, (_, i) => all[i % 3]?.sessions.start(request("one"), caller, never));
    const results = await town.settled(Promise.allSettled(starts));
    const outcomes = results.status === "fulfilled" ? results.value : [];
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["fulfilled"]));
    expectWholeSession();
  });

  it("refuse other parameters, a pod of another id with their name, and the id of an ended session", async () => {
    const { sessions, pods } = await town.replica();
    await town.done(sessions.start(request("one"), caller, never));
    const other = sessions.start(request("one", { repoPath: "/workspace/a" }), caller, never);
    await expect(town.done(other)).rejects.toMatchObject({ kind: "already-exists" });
    const annotations = {
      ...(thePod().metadata["annotations"] as object),
      [ANNOTATIONS.stoppedAt]: new Date(town.clock.now()).toISOString(),
    };
    town.kube.set(PODS, { ...thePod(), metadata: { ...thePod().metadata, annotations } });
    await town.advanceUntil(() => pods.get(request("one"))?.pod.annotations[ANNOTATIONS.stoppedAt] !== undefined);
    await expect(town.done(sessions.start(request("one"), caller, never))).rejects.toMatchObject({
      kind: "precondition",
    });
  });

  it("start as one pod if a start in another namespace uses the same id at the same time", async () => {
    const bindings = [bindingOf("agents", "demo"), bindingOf("more", "other")];
    const [first, second] = [await town.replica({ bindings }), await town.replica({ bindings })];
    const starts = [
      first.sessions.start(request("one"), caller, never),
      second.sessions.start(request("one", { provider: "other" }), caller, never),
    ];
    const results = await town.settled(Promise.allSettled(starts));
    const outcomes = results.status === "fulfilled" ? results.value : [];
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const refused = outcomes.find(({ status }) => status === "rejected");
    expect(refused).toMatchObject({ reason: { kind: "already-exists" } });
    expect([...town.kube.list(PODS), ...town.kube.list("/api/v1/namespaces/more/pods")]).toHaveLength(1);
  });

  it("treat invalid options of a pod as none", async () => {
    const { sessions, pods } = await town.replica();
    await town.done(sessions.start(request("one"), caller, never));
    const annotations = { ...(thePod().metadata["annotations"] as object), [ANNOTATIONS.agentOpts]: "{" };
    town.kube.set(PODS, { ...thePod(), metadata: { ...thePod().metadata, annotations } });
    await town.advanceUntil(() => pods.get(request("one"))?.pod.annotations[ANNOTATIONS.agentOpts] === "{");
    const other = request("one", { agentOpts: { model: "small" } });
    await expect(town.done(sessions.start(other, caller, never))).rejects.toMatchObject({ kind: "already-exists" });
  });

  it("that have failed keep their id until someone stops them", async () => {
    const { sessions } = await town.replica();
    await town.done(sessions.start(request("one"), caller, never));
    const state = { waiting: { reason: "ImagePullBackOff", message: "no such image" } };
    town.runs({ phase: "Pending", conditions: [], containerStatuses: [{ name: "agent", state }] });
    await town.advanceUntil(() => sessions.get(request("one"))?.status === "failed");
    await expect(town.done(sessions.start(request("one"), caller, never))).rejects.toMatchObject({
      kind: "precondition",
      fields: { status: "failed", reason: "ImagePullBackOff" },
    });
    await town.done(sessions.stop(request("one"), { force: false }, caller, never));
    await town.advanceUntil(() => sessions.get(request("one")) === undefined);
    expect(await town.done(sessions.start(request("one"), caller, never))).toMatchObject({ status: "starting" });
  });

  it("report the refusal of the cluster", async () => {
    const { sessions } = await town.replica();
    const message = 'pods "x" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=1, limited: pods=1';
    town.kube.fault = ({ method }) => (method === "POST" ? { status: 403, reason: "Forbidden", message } : undefined);
    const start = sessions.start(request("one"), caller, never);
    await expect(town.done(start)).rejects.toMatchObject({ kind: "exhausted", fields: { reason: "QuotaExceeded" } });
    town.kube.fault = ({ method }) =>
      method === "POST"
        ? { status: 403, reason: "Forbidden", message: 'pods "x" is forbidden: violates PodSecurity "restricted"' }
        : undefined;
    const again = sessions.start(request("one"), caller, never);
    await expect(town.done(again)).rejects.toMatchObject({ kind: "precondition", fields: { reason: "PodSecurity" } });
    town.kube.fault = ({ method }) =>
      method === "POST" ? { status: 404, reason: "NotFound", message: 'namespaces "agents" not found' } : undefined;
    const last = sessions.start(request("one"), caller, never);
    await expect(town.done(last)).rejects.toMatchObject({ kind: "precondition", fields: { reason: "CreateFailed" } });
  });

  it("whose Secret the cluster refuses are refused as a whole, and leave no pod that could start later", async () => {
    const { sessions } = await town.replica({ leads: true });
    const message = 'secrets "x" is forbidden: exceeded quota: secrets, requested: secrets=1, used: secrets=1';
    town.kube.fault = ({ method, path }) =>
      method === "POST" && path === SECRETS ? { status: 403, reason: "Forbidden", message } : undefined;
    const start = sessions.start(request("one"), caller, never);
    await expect(town.done(start)).rejects.toMatchObject({ kind: "exhausted", fields: { reason: "QuotaExceeded" } });
    await town.advanceUntil(() => town.kube.list(PODS).length === 0);
  });

  it.each([1, 2])(
    "leave neither a duplicate nor an orphan if the process ends after %i writes of a start",
    async (writes) => {
      const first = await town.replica();
      first.writesLeft = writes;
      const started = await town.settled(first.sessions.start(request("one"), caller, never));
      expect(started.status).toBe("rejected");
      await first.end();
      expect(pod().gates).toEqual([CERTIFICATE_GATE]);
      await town.replica({ leads: true });
      await town.advanceUntil(() => pod().gates.length === 0);
      expectWholeSession();
    },
  );

  it("are not opened by a replica that does not lead", async () => {
    const first = await town.replica();
    first.writesLeft = 1;
    await town.settled(first.sessions.start(request("one"), caller, never));
    await town.replica();
    await town.clock.advance(30_000);
    expect(pod().gates).toEqual([CERTIFICATE_GATE]);
  });

  it("fill a project exactly to its limit if three replicas start them at once", async () => {
    const all = [
      await town.replica({ maxPerProject: 5 }),
      await town.replica({ maxPerProject: 5 }),
      await town.replica({ maxPerProject: 5 }),
    ];
    const starts = Array.from({ length: 15 }, (_, i) => all[i % 3]?.sessions.start(request(`s${i}`), caller, never));
    const results = await town.settled(Promise.allSettled(starts));
    const outcomes = results.status === "fulfilled" ? results.value : [];
    const started = outcomes.filter(({ status }) => status === "fulfilled").length;
    expect(started).toBe(5);
    expect(town.kube.list(PODS)).toHaveLength(started);
    const reasons = outcomes.flatMap((each) => (each.status === "rejected" ? [(each.reason as DomainError).kind] : []));
    expect(new Set(reasons)).toEqual(new Set(["exhausted"]));
  });

  it("are running only after the sidecar has confirmed that its agent lives", async () => {
    const { sessions } = await town.replica();
    await town.done(sessions.start(request("one"), caller, never));
    town.sidecar.alive = false;
    town.runs();
    await town.clock.advance(5_000);
    expect(sessions.get(request("one"))?.status).toBe("starting");
    expect(() => sessions.terminal(request("one"))).toThrow(
      expect.objectContaining({ message: 'session "one" is starting', fields: { session: "starting" } }),
    );
    town.sidecar.alive = true;
    await town.advanceUntil(() => sessions.get(request("one"))?.status === "running");
  });

  it("hold an input that arrives while they start until they run, for at most 10 s", async () => {
    const { sessions } = await town.replica();
    await town.done(sessions.start(request("one"), caller, never));
    const input = { text: "hello", idempotencyKey: "" };
    const early = town.settled(sessions.sendInput(request("one"), input, caller, never));
    const from = town.clock.monotonicMs();
    expect(await early).toMatchObject({ reason: { kind: "unavailable", fields: { session: "starting" } } });
    expect(town.clock.monotonicMs() - from).toBeGreaterThanOrEqual(10_000);
    const kept = sessions.sendInput(request("one"), input, caller, never).catch(() => {});
    await town.clock.advance(3_000);
    expect(town.sidecar.calls).not.toContain("Nudge");
    town.runs();
    await town.advanceUntil(() => town.sidecar.calls.includes("Nudge"));
    await kept;
  });

  it("report the position of their events, and restarts of the agent and of its container", async () => {
    const { sessions } = await town.replica();
    await town.done(sessions.start(request("one"), caller, never));
    const state = { running: {} };
    town.runs({ containerStatuses: [{ name: "agent", ready: true, started: true, restartCount: 1, state }] });
    town.sidecar.restarts = 2;
    await town.advanceUntil(() => sessions.get(request("one"))?.status === "running");
    expect(await town.done(sessions.describe(request("one"), never))).toMatchObject({
      epoch: "e1",
      lastSeq: 7n,
      restarts: 3,
    });
    town.sidecar.fails = new DomainError("unavailable", "gone");
    expect(await town.done(sessions.describe(request("one"), never))).toMatchObject({ status: "running", restarts: 1 });
  });

  it.each([
    ["an invalid number of events", { epoch: "e1", head: "99999999999999999999" }],
    ["an endless epoch", { epoch: "e".repeat(100_000), head: "7" }],
  ])("are described as the cluster knows them if a hostile sidecar reports %s", async (_, position) => {
    const { sessions } = await town.replica();
    await town.done(sessions.start(request("one"), caller, never));
    town.runs();
    await town.advanceUntil(() => sessions.get(request("one"))?.status === "running");
    [town.sidecar.position, town.sidecar.restarts] = [position, 2 ** 31 - 1];
    expect(await town.done(sessions.describe(request("one"), never))).toMatchObject({
      epoch: "",
      lastSeq: 0n,
      restarts: 0,
    });
  });

  it("report at most as many restarts as the field holds if a hostile sidecar reports more", async () => {
    const { sessions } = await town.replica();
    await town.done(sessions.start(request("one"), caller, never));
    const state = { running: {} };
    town.runs({ containerStatuses: [{ name: "agent", ready: true, started: true, restartCount: 1, state }] });
    await town.advanceUntil(() => sessions.get(request("one"))?.status === "running");
    town.sidecar.restarts = 2 ** 31 - 1;
    const described = await town.done(sessions.describe(request("one"), never));
    expect(described?.restarts).toBe(2 ** 31 - 1);
  });

  it("are listed with at most as many restarts as the field holds", async () => {
    const { sessions } = await town.replica();
    await town.done(sessions.start(request("one"), caller, never));
    const container = { name: "agent", ready: true, started: true, restartCount: 2 ** 31 - 1, state: { running: {} } };
    town.runs({ containerStatuses: [container, { ...container, name: "other" }] });
    await town.advanceUntil(() => sessions.get(request("one"))?.status === "running");
    expect(sessions.list("shop").map(({ restarts }) => restarts)).toEqual([2 ** 31 - 1]);
  });

  it("are described as the cluster knows them if their sidecar fails by a fault of its own", async () => {
    const { sessions } = await town.replica();
    await town.done(sessions.start(request("one"), caller, never));
    town.runs();
    await town.advanceUntil(() => sessions.get(request("one"))?.status === "running");
    town.sidecar.fails = new ConnectError("broken", Code.Internal);
    expect(await town.done(sessions.describe(request("one"), never))).toMatchObject({ status: "running", epoch: "" });
  });

  it("are listed for one project only, the oldest first, and report their changes", async () => {
    const { sessions } = await town.replica();
    const seen: string[] = [];
    const stop = new AbortController();
    const reading = (async () => {
      for await (const { type, session } of sessions.changes("shop", stop.signal))
        seen.push(`${type} ${session.id} ${session.status}`);
    })().catch(() => {});
    for (const id of ["b", "a"]) {
      await town.done(sessions.start(request(id), caller, never));
      await town.clock.advance(1_000);
    }
    expect(sessions.list("shop").map(({ id }) => id)).toEqual(["b", "a"]);
    expect(sessions.list("other")).toEqual([]);
    expect(sessions.get({ project: "other", id: "a" })).toBeUndefined();
    expect(seen).toContain("changed b starting");
    stop.abort();
    await reading;
  });

  it("are unavailable until the cluster was read", async () => {
    town.kube.fault = () => ({ status: 503 });
    const made = town.add();
    await settle();
    const unavailable = expect.objectContaining({ kind: "unavailable" });
    expect(() => made.sessions.get(request("one"))).toThrow(unavailable);
    await expect(made.sessions.start(request("one"), caller, never)).rejects.toEqual(unavailable);
  });

  it("are not denied by a replica whose watch is cut, which knows them after someone has asked", async () => {
    const [first, second] = [await town.replica(), await town.replica()];
    const watches = town.kube.watches.slice(town.kube.watches.length / 2);
    town.kube.fault = ({ query }) => (query?.["watch"] === true ? "reset" : undefined);
    for (const watch of watches) watch.reset();
    await town.clock.advance(60_000);
    await town.done(first.sessions.start(request("one"), caller, never));
    const asked = () => second.sessions.get(request("one"));
    expect(asked).toThrow(expect.objectContaining({ kind: "unavailable" }));
    expect([second.sessions.list("shop"), second.sessions.listFault("shop")]).toEqual([
      [],
      "the API server does not answer",
    ]);
    town.kube.fault = () => undefined;
    await settle();
    expect(asked()).toMatchObject({ id: "one" });
    expect(second.sessions.get(request("none"))).toBeUndefined();
    expect(second.sessions.listFault("shop")).toBe("");
  });

  it("made by others are ignored without adoption, and never replace ours", async () => {
    const { sessions, pods } = await town.replica();
    await town.done(sessions.start(request("one"), caller, never));
    const labels = { "gastown.io/agent": "x", "gastown.io/session": "one" };
    town.kube.set(PODS, { metadata: { name: "foreign", labels } });
    await town.advanceUntil(() => town.kube.list(PODS).length === 2);
    expect(pods.get(request("one"))?.pod.name).not.toBe("foreign");
    expect(sessions.list("shop")).toHaveLength(1);
  });
});
