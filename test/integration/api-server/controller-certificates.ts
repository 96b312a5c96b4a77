import { createPrivateKey, X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { systemClock } from "../../../internal/base/clock.ts";
import { runTasks, type Task } from "../../../internal/base/task-group.ts";
import { CertificateReconciler } from "../../../internal/controller/certificates/certificate-reconciler.ts";
import { PodNotesClient } from "../../../internal/controller/certificates/pod-notes-client.ts";
import { SecretClient } from "../../../internal/controller/certificates/secret-client.ts";
import {
  type IssuingCa,
  newSessionCertificate,
} from "../../../internal/controller/certificates/session-certificate.ts";
import { SessionSecrets } from "../../../internal/controller/certificates/session-secrets.ts";
import { observePod } from "../../../internal/controller/pods/observed-pod.ts";
import { PodClient } from "../../../internal/controller/pods/pod-client.ts";
import { SessionPods } from "../../../internal/controller/pods/session-pods.ts";
import type { SessionRecord } from "../../../internal/controller/pods/session-record.ts";
import { SidecarPool } from "../../../internal/controller/pods/sidecar-pool.ts";
import { SessionKeeper } from "../../../internal/controller/sessions/session-keeper.ts";
import { SessionOpening } from "../../../internal/controller/sessions/session-opening.ts";
import { SessionStopper } from "../../../internal/controller/sessions/session-stopper.ts";
import { StartLimits } from "../../../internal/controller/sessions/start-limits.ts";
import { kubeconfigCredentials } from "../../../internal/kube/access/kubeconfig.ts";
import type { KubeRequest } from "../../../internal/kube/kube-api.ts";
import { KubeTransport } from "../../../internal/kube/transport.ts";
import { newAuthority } from "../../../internal/pki/authority.ts";
import { newKeyPair } from "../../../internal/pki/key-pair.ts";
import { type TestCluster, untilInCluster } from "../../support/cluster/cluster.ts";
import { requireMade } from "../../support/cluster/components.ts";
import { sharedApiServer } from "../../support/cluster/shared-cluster.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import { silentLogger } from "../../support/silent-logger.ts";

const LIMIT_MS = 120_000;
const NAMESPACE = "agents";
const GATE = "gastown.io/certificate";
interface SecretJson {
  readonly metadata: { readonly labels?: Record<string, string>; readonly ownerReferences?: readonly unknown[] };
  readonly data?: Record<string, string>;
}

const TOWN = { trustDomain: "town.example" };

async function issuer(name: string): Promise<IssuingCa> {
  const keys = await newKeyPair("ecdsa-p384");
  const pem = newAuthority(keys, { name, ...TOWN, days: 10, now: Date.now() });
  return { signer: { certificate: new X509Certificate(pem), key: keys.privateKey }, chain: "", bundle: pem };
}

describe("the Secret of a session's pod, on a real API server", () => {
  let cluster: TestCluster | undefined;
  let ca: IssuingCa;
  let api: KubeTransport;
  let reconciler: CertificateReconciler;
  const stop = new AbortController();
  let running: Promise<void> | undefined;

  beforeAll(async () => {
    cluster = sharedApiServer()?.cluster;
    if (cluster === undefined) return;
    await cluster.kubectl(["create", "namespace", NAMESPACE]);
    ca = await issuer("town");
    api = new KubeTransport({
      clock: systemClock,
      credentials: await kubeconfigCredentials(cluster.kubeconfig),
      logger: silentLogger,
    });
    running = api.run(stop.signal);
    const deps = {
      secrets: new SecretClient(api),
      notes: new PodNotesClient(api),
      ca: () => ca,
      clock: systemClock,
      logger: silentLogger,
    };
    reconciler = new CertificateReconciler(deps, TOWN);
  }, LIMIT_MS);

  afterAll(async () => {
    stop.abort();
    await running;
    await cluster?.kubectl(["delete", "namespace", NAMESPACE, "--wait=false", "--ignore-not-found"]);
  }, LIMIT_MS);

  const here = (context: TestContext) => requireMade(context, cluster, ["kubectl", "cluster"], "no cluster");

  const get = async (kind: string, name: string) =>
    JSON.parse(await (cluster as TestCluster).kubectl(["-n", NAMESPACE, "get", kind, name, "-o", "json"]));

  /** The leader's tasks for certificates. */
  function keeping(): readonly Task[] {
    const binding = { name: NAMESPACE, project: "shop", templates: new Map(), credentials: "secret" } as const;
    const [clock, logger, random] = [systemClock, silentLogger, Math.random];
    const pods = new SessionPods({ api, clock, logger, random }, [binding]);
    const client = new PodClient(api);
    const limits = new StartLimits({ clock, pods, client, bindings: [binding] }, { maxPerProject: 50, maxGlobal: 50 });
    const opening = new SessionOpening({ clock, client, limits, certificates: reconciler });
    const stopper = new SessionStopper({
      clock,
      logger,
      client,
      pool: new SidecarPool({ tls: () => undefined }, TOWN),
    });
    const keeper = new SessionKeeper({ clock, logger, random, pods, client, opening, stopper }, { retentionMs: 1_000 });
    const onChanged = (record: SessionRecord, delayMs: number) => keeper.lookAt(record, delayMs);
    return [pods, keeper, new SessionSecrets({ api, clock, logger, random, pods, onChanged }, [binding])];
  }

  /** A pod that waits for its Secret, as the controller makes it. */
  async function gatedPod(name: string, metadata: object = {}): Promise<void> {
    const spec = {
      schedulingGates: [{ name: GATE }, { name: "example.org/other" }],
      containers: [{ name: "agent", image: "x" }],
    };
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, ...metadata },
      spec: { ...spec, automountServiceAccountToken: false },
    };
    const create = async () =>
      await (cluster as TestCluster).kubectl(["-n", NAMESPACE, "create", "-f", "-"], JSON.stringify(pod));
    await until("the namespace's service account", 30_000, () => create().catch(() => undefined));
  }

  const look = async (name: string, pod?: ReturnType<typeof observePod>) =>
    reconciler.reconcile(
      { sessionId: name, pod: pod ?? observePod(await get("pod", name)), secretName: `${name}-tls` },
      AbortSignal.timeout(60_000),
    );

  const leafOf = (secret: { readonly data?: Record<string, string> }) =>
    new X509Certificate(Buffer.from(secret.data?.["tls.crt"] ?? "", "base64"));

  it("is created before the pod's gate is removed, is owned by the pod, and leaves other gates in place", {
    timeout: LIMIT_MS,
  }, async (context) => {
    await here(context);
    await gatedPod("one");
    await look("one");
    const [pod, secret] = [await get("pod", "one"), await get("secret", "one-tls")];
    expect(secret.metadata.ownerReferences).toEqual([
      { apiVersion: "v1", kind: "Pod", name: "one", uid: pod.metadata.uid },
    ]);
    expect(pod.metadata.annotations["gastown.io/cert-serial"]).toBe(leafOf(secret).serialNumber);
    expect(pod.spec.schedulingGates).toEqual([{ name: "example.org/other" }]);
    expect(leafOf(secret).subjectAltName).toContain("URI:spiffe://town.example/ns/agents/session/one");
    const before = secret.metadata.resourceVersion;
    await look("one");
    expect((await get("secret", "one-tls")).metadata.resourceVersion).toBe(before);
  });

  it("is repaired within seconds after any manual change", {
    timeout: LIMIT_MS,
  }, async (context) => {
    await here(context);
    const labels = { "gastown.io/agent": "damaged", "app.kubernetes.io/managed-by": "gastown" };
    await gatedPod("damaged", { labels, annotations: { "gastown.io/session-id": "damaged" } });
    const path = `/api/v1/namespaces/${NAMESPACE}/secrets/damaged-tls`;
    const call = (request: Omit<KubeRequest, "path">) => api.call({ ...request, path }, AbortSignal.timeout(60_000));
    const patch = (body: unknown) => call({ method: "PATCH", contentType: "application/merge-patch+json", body });
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const foreign = await issuer("other");
    const identity = { trustDomain: "town.example", sessionId: "damaged", namespace: NAMESPACE };
    const pairOf = async (from: IssuingCa) => {
      const { cert, key } = await newSessionCertificate(identity, from, Date.now());
      return { "tls.crt": base64(cert), "tls.key": base64(key) };
    };
    const damages: readonly (readonly [string, () => Promise<unknown>])[] = [
      ["deleted", () => call({ method: "DELETE" })],
      ["emptied", () => patch({ data: null })],
      ["a key taken away", () => patch({ data: { "tls.key": null } })],
      ["another key", async () => patch({ data: { "tls.key": (await pairOf(ca))["tls.key"] } })],
      ["another CA's certificate", async () => patch({ data: await pairOf(foreign) })],
      [
        "another CA's certificate and bundle",
        async () => patch({ data: { ...(await pairOf(foreign)), "ca.crt": base64(foreign.bundle) } }),
      ],
      ["half of a replacement of the CA", () => patch({ data: { "ca.crt": base64(foreign.bundle + ca.bundle) } })],
      ["another list", () => patch({ data: { "crl.pem": base64("x") } })],
      ["a label of others", () => patch({ metadata: { labels: { "app.kubernetes.io/managed-by": "shop" } } })],
      ["no label", () => patch({ metadata: { labels: null } })],
      ["immutable, without its key", () => patch({ immutable: true, data: { "tls.key": null } })],
      ["no owner", () => patch({ metadata: { ownerReferences: null } })],
    ];
    const isGood = async () => {
      const one = (await call({ method: "GET" }).catch(() => undefined)) as SecretJson | undefined;
      if (one === undefined) return undefined;
      const data = one.data ?? {};
      const keys = Object.keys(data).sort().join();
      if (keys !== "ca.crt,tls.crt,tls.key" || one.metadata.ownerReferences?.length !== 1) return undefined;
      const text = (key: string) => Buffer.from(data[key] ?? "", "base64").toString();
      const isPair = leafOf(one).checkPrivateKey(createPrivateKey(text("tls.key")));
      const isOurs = leafOf(one).verify(ca.signer.certificate.publicKey) && text("ca.crt") === ca.bundle;
      const isLabelled = one.metadata.labels?.["app.kubernetes.io/managed-by"] === "gastown";
      return (isPair && isOurs && isLabelled) || undefined;
    };
    const leading = new AbortController();
    const running = runTasks(leading.signal, keeping());
    try {
      await until("the first certificate", 30_000, isGood);
      for (const [what, damage] of damages) {
        await damage();
        await until(`the repair: ${what}`, 30_000, isGood);
      }
    } finally {
      leading.abort(new Error("the test ends"));
      await running;
    }
  });

  it("is not written for a pod that has been replaced by another of the same name", {
    timeout: LIMIT_MS,
  }, async (context) => {
    const found = await here(context);
    await gatedPod("twin");
    const first = observePod(await get("pod", "twin"));
    await found.kubectl(["-n", NAMESPACE, "delete", "pod", "twin", "--force", "--grace-period=0"]);
    await gatedPod("twin");
    await expect(look("twin", first)).rejects.toThrow(expect.objectContaining({ kind: "precondition" }));
    expect((await get("pod", "twin")).spec.schedulingGates).toHaveLength(2);
    for (let again = true; again; ) again = (await look("twin")).type === "waiting";
    expect((await get("secret", "twin-tls")).metadata.ownerReferences[0].uid).toBe(
      (await get("pod", "twin")).metadata.uid,
    );
  });

  it("does not replace a foreign Secret of that name", { timeout: LIMIT_MS }, async (context) => {
    const found = await here(context);
    await gatedPod("theirs");
    await found.kubectl(["-n", NAMESPACE, "create", "secret", "generic", "theirs-tls", "--from-literal=password=x"]);
    expect(await look("theirs")).toMatchObject({ type: "refused", why: "not-ours" });
    expect(Object.keys((await get("secret", "theirs-tls")).data)).toEqual(["password"]);
  });

  it("is deleted with its pod", { timeout: LIMIT_MS }, async (context) => {
    const found = await here(context);
    await gatedPod("leaving");
    await look("leaving");
    await found.kubectl(["-n", NAMESPACE, "delete", "pod", "leaving", "--force", "--grace-period=0"]);
    const isGone = async () =>
      (await found.kubectl(["-n", NAMESPACE, "get", "secrets", "-o", "name"])).includes("leaving-tls") === false;
    await untilInCluster("the Secret's end", 60_000, async () => (await isGone()) || undefined);
  });
});
