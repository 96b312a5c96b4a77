import { describe, expect, it } from "vitest";
import { eachTown, PODS, type ReplicatedSessions, SECRETS } from "../../../test/support/cluster/replicated-sessions.ts";
import { bindingOf, caller, RETENTION_MS, startOf as request } from "../../../test/support/cluster/session-replica.ts";
import { raceSignal } from "../../base/abort.ts";
import { DomainError } from "../../base/errors.ts";
import { observePod } from "../pods/observed-pod.ts";

const never = new AbortController().signal;

describe("stops of sessions in pods", () => {
  let town: ReplicatedSessions;
  eachTown((made) => {
    town = made;
  });

  const thePod = () => town.kube.list(PODS)[0] ?? { metadata: { name: "none" } };
  const pod = () => observePod(thePod());

  it.each(["the same replica", "another replica"])(
    "take effect at once if %s is asked to force them meanwhile",
    async (at) => {
      const first = await town.replica();
      const second = at === "another replica" ? await town.replica() : first;
      await town.done(first.sessions.start(request("one"), caller, never));
      town.runs();
      await town.advanceUntil(() => second.sessions.get(request("one"))?.status === "running");
      const asked: boolean[] = [];
      const patient = Promise.withResolvers<void>();
      town.sidecar.before = (name, message) => {
        if (name !== "StopAgent") return undefined;
        const { force } = message as { readonly force: boolean };
        asked.push(force);
        return force ? undefined : patient.promise;
      };
      await town.done(first.sessions.stop(request("one"), { force: false }, caller, never));
      await town.advanceUntil(() => asked.length === 1 && second.sessions.get(request("one"))?.status === "stopping");
      await town.done(second.sessions.stop(request("one"), { force: true }, caller, never));
      await town.advanceUntil(() => asked.length === 2, 3_000);
      expect(asked).toEqual([false, true]);
      await town.advanceUntil(() => second.sessions.get(request("one"))?.status === "stopped");
      patient.resolve();
    },
  );

  it("are written once, however many callers ask at once or again", async () => {
    const { sessions } = await town.replica({ keeps: false });
    await town.done(sessions.start(request("one"), caller, never));
    town.runs();
    await town.advanceUntil(() => sessions.get(request("one"))?.status === "running");
    town.sidecar.before = (name, _, signal) =>
      name === "StopAgent" ? raceSignal(new Promise(() => {}), signal) : undefined;
    const before = town.kube.requests.length;
    const left = new AbortController();
    const leaving = sessions.stop(request("one"), { force: true }, caller, left.signal);
    const all = Array.from({ length: 50 }, () => sessions.stop(request("one"), { force: true }, caller, never));
    left.abort(new DomainError("cancelled", "left"));
    await expect(leaving).rejects.toMatchObject({ kind: "cancelled" });
    await town.done(Promise.all(all));
    await town.done(sessions.stop(request("one"), { force: true }, caller, never));
    const writes = town.kube.requests.slice(before).filter(({ method }) => method === "PATCH");
    expect(writes).toHaveLength(1);
  });

  it("end the agent first; after the retention the pod and its Secret are deleted", async () => {
    const one = await town.replica({ leads: true });
    await town.done(one.sessions.start(request("one"), caller, never));
    town.runs();
    await town.advanceUntil(() => one.sessions.get(request("one"))?.status === "running");
    expect(await town.done(one.sessions.stop(request("one"), { force: false }, caller, never))).toMatchObject({
      status: "stopping",
    });
    await town.advanceUntil(() => one.sessions.get(request("one"))?.status === "stopped");
    expect(town.sidecar.calls).toContain("StopAgent");
    const { uid } = pod();
    await town.clock.advance(RETENTION_MS - 30_000);
    expect(pod().uid).toBe(uid);
    await town.advanceUntil(() => town.kube.list(PODS).length === 0);
    expect(town.kube.list(SECRETS)).toEqual([]);
    await town.advanceUntil(() => one.sessions.get(request("one")) === undefined);
  });

  it.each([1])("are completed by the leader if the process ends after %i write of a stop", async (writes) => {
    const first = await town.replica();
    await town.done(first.sessions.start(request("one"), caller, never));
    town.runs();
    await town.advanceUntil(() => first.sessions.get(request("one"))?.status === "running");
    first.writesLeft = writes;
    town.sidecar.fails = new DomainError("unavailable", "gone");
    await town.settled(first.sessions.stop(request("one"), { force: false }, caller, never));
    await first.end();
    delete town.sidecar.fails;
    const second = await town.replica({ leads: true });
    expect(second.sessions.get(request("one"))?.status).toBe("stopping");
    await town.advanceUntil(() => second.sessions.get(request("one"))?.status === "stopped");
    expect(town.kube.list(PODS)).toHaveLength(1);
  });

  it("delete the pod of a session that never ran", async () => {
    const { sessions } = await town.replica();
    await town.done(sessions.start(request("one"), caller, never));
    await town.done(sessions.stop(request("one"), { force: false }, caller, never));
    await town.advanceUntil(() => town.kube.list(PODS).length === 0);
    expect(town.sidecar.calls).not.toContain("StopAgent");
  });

  it("delete the pod if its sidecar cannot be reached, because the kubelet ends the agent too", async () => {
    const { sessions } = await town.replica();
    await town.done(sessions.start(request("one"), caller, never));
    town.runs();
    await town.advanceUntil(() => sessions.get(request("one"))?.status === "running");
    town.sidecar.fails = new DomainError("unavailable", "no route");
    await town.done(sessions.stop(request("one"), { force: false }, caller, never));
    await town.advanceUntil(() => town.kube.list(PODS).length === 0);
  });

  it("leave no call behind after their time if the sidecar hangs", async () => {
    const { sessions } = await town.replica();
    await town.done(sessions.start(request("one"), caller, never));
    town.runs();
    await town.advanceUntil(() => sessions.get(request("one"))?.status === "running");
    let hung: AbortSignal | undefined;
    town.sidecar.before = (name, _, signal) => {
      if (name !== "StopAgent") return undefined;
      hung = signal;
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    };
    await town.done(sessions.stop(request("one"), { force: false }, caller, never));
    await town.advanceUntil(() => hung?.aborted === true, 120_000);
    await town.advanceUntil(() => town.kube.list(PODS).length === 0);
  });

  it("end adopted agents once they run and answer, and never delete their pods", async () => {
    const adopting = { ...bindingOf("agents", "demo"), adoption: { accounts: ["ci"] } };
    const { sessions } = await town.replica({ leads: true, bindings: [adopting] });
    const labels = { "gastown.io/agent": "x", "gastown.io/session": "one", "gastown.io/provider": "demo" };
    town.kube.set(PODS, { metadata: { name: "theirs", uid: "u1", labels } });
    await town.advanceUntil(() => sessions.get(request("one"))?.status === "starting");
    expect(await town.done(sessions.stop(request("one"), { force: false }, caller, never))).toMatchObject({
      status: "stopping",
    });
    await town.advanceUntil(() => town.kube.list(SECRETS).length === 1);
    expect(town.sidecar.calls).not.toContain("StopAgent");
    town.sidecar.fails = new DomainError("unavailable", "no route");
    town.runs();
    await town.advanceUntil(() => town.sidecar.calls.includes("StopAgent"));
    expect(sessions.get(request("one"))?.status).toBe("stopping");
    delete town.sidecar.fails;
    await town.advanceUntil(() => sessions.get(request("one"))?.status === "stopped");
    await town.clock.advance(2 * RETENTION_MS);
    expect(pod().name).toBe("theirs");
  });
});
