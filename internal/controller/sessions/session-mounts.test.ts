import { describe, expect, it } from "vitest";
import { eachTown, PODS, type ReplicatedSessions, SECRETS } from "../../../test/support/cluster/replicated-sessions.ts";
import { bindingOf } from "../../../test/support/cluster/session-replica.ts";

const ADOPTING = [{ ...bindingOf("agents", "demo"), adoption: { accounts: [] } }];
const tlsOf = (secretName: string) => [{ name: "tls", secret: { secretName } }];

describe("a pod whose containers do not start", () => {
  let town: ReplicatedSessions;
  eachTown((made) => {
    town = made;
  });

  /** A pod as shown by a kubelet that cannot mount a missing Secret. */
  function add(labels: object, volumes: readonly object[]): void {
    const containerStatuses = [{ name: "agent", restartCount: 0, state: { waiting: { reason: "ContainerCreating" } } }];
    town.kube.set(PODS, {
      metadata: { name: "toast-0", labels: labels as Record<string, string> },
      spec: { nodeName: "node", volumes },
      status: { phase: "Pending", containerStatuses },
    });
  }

  const adopting = async () => (await town.replica({ bindings: ADOPTING, leads: true })).sessions;
  const toast = { project: "shop", id: "toast" };
  const labels = { "gastown.io/agent": "toast", "gastown.io/session": "toast" };

  it("reports the missing Secret, and starts once it exists", async () => {
    const sessions = await adopting();
    add(labels, [
      ...tlsOf("gastown-session-toast"),
      { name: "cache", secret: { secretName: "cache", optional: true } },
      { name: "all", projected: { sources: [{ secret: { name: "git-credentials" } }] } },
    ]);
    await town.advanceUntil(() => sessions.get(toast)?.status === "failed");
    expect(sessions.get(toast)).toMatchObject({
      reason: "FailedMount",
      error: "its pod mounts the Secret git-credentials, which is not in namespace agents",
    });
    town.kube.set(SECRETS, { metadata: { name: "git-credentials" } });
    await town.advanceUntil(() => sessions.get(toast)?.status === "starting");
    expect(sessions.get(toast)).toMatchObject({ reason: "", error: "" });
  });

  it.each([
    [
      labels,
      "gastown-session-other",
      /; by its label gastown\.io\/session its certificate is in gastown-session-toast$/,
    ],
    [
      { "gastown.io/agent": "toast" },
      "gastown-session-other",
      /: create it again with the label gastown\.io\/session: other$/,
    ],
  ])("reports where its certificate is: %j mounts %s", async (given, secret, error) => {
    const sessions = await adopting();
    add(given, tlsOf(secret));
    const only = () => sessions.list("shop")[0];
    await town.advanceUntil(() => only()?.status === "failed");
    expect(only()).toMatchObject({ reason: "FailedMount", error: expect.stringMatching(error) });
  });

  it("that names a session without the agent's label is shown as one that gets no certificate", async () => {
    const sessions = await adopting();
    add({ "gastown.io/session": "toast" }, tlsOf("gastown-session-toast"));
    await town.advanceUntil(() => sessions.get(toast) !== undefined);
    expect(sessions.get(toast)).toMatchObject({
      status: "failed",
      reason: "FailedMount",
      error: expect.stringContaining("no label gastown.io/agent"),
    });
    await town.clock.advance(600_000);
    expect(town.kube.list(SECRETS)).toEqual([]);
  });

  it("is starting while an image is pulled and all Secrets exist", async () => {
    const sessions = await adopting();
    add(labels, tlsOf("gastown-session-toast"));
    await town.advanceUntil(() => town.kube.list(SECRETS).length === 1);
    await town.clock.advance(60_000);
    expect(sessions.get(toast)).toMatchObject({ status: "starting", reason: "" });
  });
});
