import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeKube } from "../../../test/fakes/fake-kube.ts";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { SessionPods } from "./session-pods.ts";

const PODS = "/api/v1/namespaces/agents/pods";

describe("pods of others with the label of one session", () => {
  let kube: FakeKube;
  let pods: SessionPods;
  let told: string[];
  let stop: AbortController;
  let running: Promise<void>;

  beforeEach(async () => {
    const clock = new FakeClock();
    kube = new FakeKube(() => clock.now());
    const adoption = { accounts: ["system:serviceaccount:ci:deployer"] };
    const binding = { name: "agents", project: "shop", templates: new Map(), credentials: "secret", adoption } as const;
    pods = new SessionPods({ api: kube, clock, logger: silentLogger, random: () => 0.5 }, [binding]);
    told = [];
    pods.listen(({ type, record }) => told.push(`${type} ${record.pod.name}`));
    stop = new AbortController();
    running = pods.run(stop.signal);
    await settle();
  });
  afterEach(async () => {
    stop.abort(new Error("test ends"));
    await running;
  });

  const LABELS = { "gastown.io/agent": "one", "gastown.io/session": "one" };

  async function add(name: string, labels: Readonly<Record<string, string>> = LABELS): Promise<void> {
    kube.set(PODS, { metadata: { name, labels } });
    await settle();
  }

  it("are each reported when they are gone, followed by the current pod", async () => {
    await add("old");
    await add("new");
    told = [];
    kube.delete(PODS, "old");
    await settle();
    expect(told).toEqual(["gone old", "changed new"]);
    told = [];
    kube.delete(PODS, "new");
    await settle();
    expect(told).toEqual(["gone new"]);
    expect(pods.get({ project: "shop", id: "one" })).toBeUndefined();
  });

  it("become current by life, then by age: an evicted pod is replaced by the next", async () => {
    await add("unlabelled", { "gastown.io/session": "one" });
    await add("old");
    await add("new");
    const current = () => pods.get({ project: "shop", id: "one" })?.pod.name;
    expect(current()).toBe("old");
    told = [];
    const old = kube.list(PODS).find(({ metadata }) => metadata.name === "old");
    kube.set(PODS, {
      ...old,
      metadata: { ...old?.metadata, name: "old" },
      status: { phase: "Failed", reason: "Evicted" },
    });
    await settle();
    expect(current()).toBe("new");
    expect(told).toEqual(["changed new"]);
    kube.delete(PODS, "new");
    await settle();
    expect(current()).toBe("old");
    kube.delete(PODS, "old");
    await settle();
    expect(current()).toBe("unlabelled");
  });

  it("without the label of a session or an agent are ignored", async () => {
    await add("other", { "gastown.io/rig": "shop" });
    expect([...pods.all()]).toEqual([]);
  });
});
