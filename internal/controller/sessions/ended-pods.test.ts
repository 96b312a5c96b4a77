import { afterEach, beforeEach, expect, it } from "vitest";
import { PODS, ReplicatedSessions } from "../../../test/support/cluster/replicated-sessions.ts";
import { caller, RETENTION_MS, startOf as request, townCa } from "../../../test/support/cluster/session-replica.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { ANNOTATIONS } from "../pods/names.ts";

const never = new AbortController().signal;
let town: ReplicatedSessions;

beforeEach(async () => {
  town = new ReplicatedSessions(await townCa(new FakeClock().now()));
});
afterEach(() => town.end());

it.each([
  ["Failed", { reason: "Evicted", message: "The node was low on memory." }, /^session "one" has failed: .*evicted/],
  ["Succeeded", {}, /^session "one" has ended/],
])("refuses readers of events at once, with the reason, if the pod has %s", async (phase, status, message) => {
  const { sessions } = await town.replica();
  await town.settled(sessions.start(request("one"), caller, never));
  const state = { terminated: { exitCode: phase === "Failed" ? 137 : 0 } };
  town.runs({ phase, containerStatuses: [{ name: "agent", state }], ...status });
  await town.advanceUntil(() => /failed|stopped/.test(sessions.get(request("one"))?.status ?? ""));
  // `unavailable` makes callers retry until the pod is deleted.
  await expect(sessions.events(request("one"), { epoch: "", subscriber: "" }, caller)).rejects.toMatchObject({
    kind: "precondition",
    message: expect.stringMatching(message),
    fields: { session: "ended" },
  });
});

it("keeps a session whose end date is damaged for its retention from then on, and deletes it afterwards", async () => {
  const { sessions } = await town.replica({ leads: true });
  await town.settled(sessions.start(request("one"), caller, never));
  const ofPod = () => town.kube.list(PODS)[0]?.metadata["annotations"] as Record<string, string> | undefined;
  const pod = town.kube.list(PODS)[0];
  const annotations = { ...ofPod(), [ANNOTATIONS.stoppedAt]: "yesterday" };
  town.kube.set(PODS, { ...pod, metadata: { ...pod?.metadata, name: pod?.metadata.name ?? "", annotations } });
  await town.advanceUntil(() => !Number.isNaN(Date.parse(ofPod()?.[ANNOTATIONS.stoppedAt] ?? "")));
  await town.clock.advance(RETENTION_MS / 2);
  expect(sessions.get(request("one"))?.status).toBe("stopped");
  await town.clock.advance(RETENTION_MS / 2);
  await town.advanceUntil(() => town.kube.list(PODS).length === 0);
});
