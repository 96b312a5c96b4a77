import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { eachTown, PODS, type ReplicatedSessions } from "../../../test/support/cluster/replicated-sessions.ts";
import { caller, RETENTION_MS, startOf as request } from "../../../test/support/cluster/session-replica.ts";
import { DomainError } from "../../base/errors.ts";
import { SidecarNudgeRequestSchema, SidecarService } from "../../gen/gastown/v1/sidecar_pb.ts";

const never = new AbortController().signal;
const NOT_READY = { conditions: [{ type: "Ready", status: "False", reason: "ContainersNotReady" }] };
const RUNS = { restartCount: 0, state: { running: {} }, started: true };

describe("a session whose agent ends by itself", () => {
  let town: ReplicatedSessions;
  eachTown((made) => {
    town = made;
  });

  async function running(): Promise<Awaited<ReturnType<ReplicatedSessions["replica"]>>> {
    const one = await town.replica({ leads: true });
    await town.settled(one.sessions.start(request("one"), caller, never));
    town.runs();
    await town.advanceUntil(() => one.sessions.get(request("one"))?.status === "running");
    return one;
  }

  it("without an error is stopped, and kept for its retention, although its sidecar still serves", async () => {
    const { sessions } = await running();
    town.sidecar.end = { exitCode: 0 };
    town.runs(NOT_READY);
    await town.advanceUntil(() => sessions.get(request("one"))?.status === "stopped", 10_000);
    expect(sessions.get(request("one"))?.stoppedAt).toBeGreaterThan(0);
    const again = await town.settled(sessions.start(request("one"), caller, never));
    expect(again).toMatchObject({ reason: { kind: "precondition" } });
    const nudge = create(SidecarNudgeRequestSchema, { message: "hello" });
    await expect(
      sessions.terminal(request("one")).unary(SidecarService.method.nudge, nudge, caller, never),
    ).rejects.toMatchObject({ kind: "precondition", fields: { status: "stopped" } });
    await town.clock.advance(RETENTION_MS - 30_000);
    expect(town.kube.list(PODS)).toHaveLength(1);
    await town.advanceUntil(() => town.kube.list(PODS).length === 0);
    expect(town.sidecar.calls).not.toContain("StopAgent");
  });

  it("continues while the agent is restarted, in one container and beside its sidecar's, and finally ends", async () => {
    const { sessions } = await running();
    const pod = town.kube.list(PODS)[0] ?? { metadata: { name: "none" } };
    const initContainers = [{ name: "sidecar", restartPolicy: "Always" }];
    const beside = { initContainerStatuses: [{ name: "sidecar", ready: false, ...RUNS }] };
    town.sidecar.alive = false;
    town.runs(NOT_READY);
    await town.clock.advance(400_000);
    expect(sessions.get(request("one"))?.status).toBe("running");
    town.kube.set(PODS, { ...pod, spec: { ...(pod["spec"] as object), initContainers } });
    town.runs({ ...NOT_READY, ...beside });
    await town.clock.advance(400_000);
    expect(sessions.get(request("one"))?.status).toBe("running");
    town.sidecar.fails = new DomainError("unavailable", "away");
    await town.clock.advance(30_000);
    delete town.sidecar.fails;
    town.sidecar.end = { exitCode: 0 };
    await town.advanceUntil(() => sessions.get(request("one"))?.status === "stopped", 10_000);
  });

  it.for([
    ["before it was ever seen alive", false],
    ["after it was running", true],
  ] as const)(
    "soon after each start (%s) fails as for a container in a crash loop, until it stays alive",
    async ([, ran]) => {
      const { sessions } = ran ? await running() : await town.replica();
      if (!ran) await town.settled(sessions.start(request("one"), caller, never));
      town.sidecar.loop = { exitCode: 3 };
      town.runs(NOT_READY);
      await town.advanceUntil(() => sessions.get(request("one"))?.status === "failed", 10_000);
      expect(sessions.get(request("one"))).toMatchObject({
        reason: "CrashLoopBackOff",
        error: "the agent ends soon after each start, the last time with code 3",
      });
      delete town.sidecar.loop;
      town.runs();
      await town.advanceUntil(() => sessions.get(request("one"))?.status === "running", 10_000);
    },
  );

  it("before it was ever seen alive is stopped, too", async () => {
    const { sessions } = await town.replica();
    await town.settled(sessions.start(request("one"), caller, never));
    town.sidecar.end = { exitCode: 0 };
    town.runs(NOT_READY);
    await town.advanceUntil(() => sessions.get(request("one"))?.status === "stopped", 10_000);
  });
});
