import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { systemClock } from "../../../internal/base/clock.ts";
import { kubeconfigCredentials } from "../../../internal/kube/access/kubeconfig.ts";
import type { KubeApi } from "../../../internal/kube/kube-api.ts";
import { isFault } from "../../../internal/kube/kube-errors.ts";
import { LeaseElector } from "../../../internal/kube/lease-elector.ts";
import { leaseRecord } from "../../../internal/kube/lease-record.ts";
import { Reflector } from "../../../internal/kube/reflector.ts";
import { KubeTransport } from "../../../internal/kube/transport.ts";
import { calmTime } from "../../support/calm-time.ts";
import type { TestCluster } from "../../support/cluster/cluster.ts";
import { requireMade } from "../../support/cluster/components.ts";
import { sharedApiServer } from "../../support/cluster/shared-cluster.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import { TcpProxy } from "../../support/sidecar/tcp-proxy.ts";
import { silentLogger } from "../../support/silent-logger.ts";

const LIMIT_MS = 120_000;
const NAMESPACE = "kube-test";
const MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
const WAIT_MS = 40_000;
const never = new AbortController().signal;

describe("the Kubernetes API of a real API server", () => {
  let cluster: TestCluster | undefined;
  let proxy: TcpProxy;
  let api: KubeTransport;
  const stop = new AbortController();
  const running: Promise<void>[] = [];

  beforeAll(async () => {
    cluster = sharedApiServer()?.cluster;
    if (cluster === undefined) return;
    await cluster.kubectl(["create", "namespace", NAMESPACE]);
    const credentials = await kubeconfigCredentials(cluster.kubeconfig);
    proxy = await TcpProxy.to(Number(new URL((await credentials.access()).server).port));
    const access = async () => ({ ...(await credentials.access()), server: `https://127.0.0.1:${proxy.port}` });
    api = new KubeTransport({ credentials: { access }, clock: systemClock, logger: silentLogger });
    running.push(api.run(stop.signal));
  }, LIMIT_MS);

  afterAll(async () => {
    stop.abort(new Error("tests end"));
    await Promise.all(running);
    await proxy?.[Symbol.asyncDispose]();
    await cluster?.kubectl(["delete", "namespace", NAMESPACE, "--wait=false"]).catch(() => {});
  }, LIMIT_MS);

  const here = (context: TestContext) => requireMade(context, cluster, ["kubectl", "cluster"], "no cluster");

  const map = (name: string, value: string) => ({ metadata: { name, labels: { test: "yes" } }, data: { value } });
  const create = (name: string, value = "1") => api.call({ method: "POST", path: MAPS, body: map(name, value) }, never);
  /** A write that ends in a reset may have taken effect. */
  const isCreated = (name: string) => create(name).then(Boolean, (err) => isFault(err, "already-exists"));
  const remove = (name: string) => api.call({ method: "DELETE", path: `${MAPS}/${name}` }, never);

  function reflector() {
    const events: string[] = [];
    const project = (object: unknown) => (object as { data?: { value?: string } }).data?.value ?? "";
    const made = new Reflector(
      {
        api,
        clock: systemClock,
        logger: silentLogger,
        random: Math.random,
        onDelta: ({ type, object }) => events.push(`${type} ${object.key.split("/")[1]} ${object.value}`),
      },
      { path: MAPS, labelSelector: "test=yes", project },
    );
    const end = new AbortController();
    const ended = made.run(end.signal);
    return {
      made,
      events,
      [Symbol.asyncDispose]: async () => {
        end.abort(new Error("enough"));
        await ended;
      },
    };
  }

  it("takes 300 calls over at most 3 connections", async (context) => {
    await here(context);
    const before = proxy.accepted;
    for (let round = 0; round < 15; round++) {
      await Promise.all(Array.from({ length: 20 }, () => api.call({ method: "GET", path: MAPS }, never)));
    }
    expect(proxy.accepted - before).toBeLessThanOrEqual(3);
  });

  it("has its errors mapped to our error kinds", async (context) => {
    await here(context);
    await create("faults");
    await expect(create("faults")).rejects.toMatchObject({ fault: "already-exists" });
    await expect(remove("absent")).rejects.toMatchObject({ fault: "not-found" });
    const body = { preconditions: { uid: "another" } };
    const wrong = api.call({ method: "DELETE", path: `${MAPS}/faults`, body }, never);
    await expect(wrong).rejects.toMatchObject({ fault: "conflict" });
    const invalid = api.call({ method: "POST", path: MAPS, body: map("NO", "1") }, never);
    await expect(invalid).rejects.toMatchObject({ fault: "invalid" });
    await remove("faults");
  });

  it("is followed through cut connections and pages", async (context) => {
    await here(context);
    await Promise.all(Array.from({ length: 12 }, (_, i) => create(`many-${i}`)));
    await using one = reflector();
    await holds("synced", () => one.made.isSynced);
    expect(one.events).toHaveLength(12);
    proxy.cut();
    await holds("a write", () => isCreated("after-cut"));
    await holds("the event after the cut", () => one.events.includes("added after-cut 1"));
    await Promise.all([...Array.from({ length: 12 }, (_, i) => remove(`many-${i}`)), remove("after-cut")]);
    await holds("an empty store", () => one.made.store.size === 0);
    expect(one.made.counts.lists).toBe(1);
  });

  it(
    "is followed through a crash and restart of the API server",
    async (context) => {
      const { control } = await here(context);
      if (control === undefined) return context.skip("the API server of this cluster is not ours to crash");
      await holds("a write", () => isCreated("before"));
      await using one = reflector();
      await holds("synced", () => one.events.includes("added before 1"));
      await control("crash", "apiserver");
      await control("start", "apiserver");
      await holds("the API server", () => isCreated("during"));
      await remove("before");
      await holds("the deletion", () => one.events.includes("removed before 1"));
      expect([...one.made.store.values()].map(({ key }) => key)).toEqual([`${NAMESPACE}/during`]);
      expect(one.events.filter((event) => event === "added during 1")).toHaveLength(1);
      await remove("during");
    },
    LIMIT_MS,
  );

  it("accepts the elector's Lease, and a released Lease is taken by the next elector", async (context) => {
    await here(context);
    const path = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/elector`;
    const led: string[] = [];
    const replica = (identity: string, end: AbortController) =>
      new LeaseElector(
        {
          api: api as KubeApi,
          clock: systemClock,
          logger: silentLogger,
          random: Math.random,
          lead: (signal) => {
            led.push(identity);
            return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
          },
        },
        { lease: { namespace: NAMESPACE, name: "elector" }, identity },
      ).run(end.signal);
    const [endA, endB] = [new AbortController(), new AbortController()];
    const a = replica("a", endA);
    await holds("a leader", () => led.length === 1);
    const b = replica("b", endB);
    const first = leaseRecord(await api.call({ method: "GET", path }, never));
    expect(first).toMatchObject({ holder: "a", durationMs: 15_000, transitions: 0 });
    endA.abort(new Error("stop"));
    await a;
    const passed = calmTime();
    await holds("the next leader", () => led.length === 2);
    expect(passed()).toBeLessThan(2_500);
    expect(leaseRecord(await api.call({ method: "GET", path }, never))).toMatchObject({ holder: "b", transitions: 1 });
    endB.abort(new Error("stop"));
    await b;
  });
});

function holds(what: string, ask: () => boolean | Promise<boolean>): Promise<true> {
  return until(what, WAIT_MS, async () => ((await ask()) ? true : undefined));
}
