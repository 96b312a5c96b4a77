import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { systemClock } from "../../internal/base/clock.ts";
import { CertificateReconciler } from "../../internal/controller/certificate-reconciler.ts";
import { observePod } from "../../internal/controller/observed-pod.ts";
import { PodNotesClient } from "../../internal/controller/pod-notes-client.ts";
import { SecretClient } from "../../internal/controller/secret-client.ts";
import type { IssuingCa } from "../../internal/controller/session-certificate.ts";
import { kubeconfigCredentials } from "../../internal/kube/kubeconfig.ts";
import { KubeTransport } from "../../internal/kube/transport.ts";
import { newAuthority } from "../../internal/pki/authority.ts";
import { newKeyPair } from "../../internal/pki/key-pair.ts";
import { type TestCluster, testCluster } from "../support/cluster.ts";
import { requireComponent } from "../support/components.ts";
import { until } from "../support/sidecar.ts";
import { silentLogger } from "../support/silent-logger.ts";

const LIMIT_MS = 120_000;
const NAMESPACE = "agents";
const GATE = "gastown.io/certificate";

describe("the Secret of a session's pod, on a real API server", () => {
  let cluster: TestCluster | undefined;
  let ca: IssuingCa;
  let api: KubeTransport;
  let reconciler: CertificateReconciler;
  const stop = new AbortController();
  let running: Promise<void> | undefined;

  beforeAll(async () => {
    const found = await testCluster(`gt-certs-${process.pid}`, "none");
    if ("missing" in found) return;
    cluster = found;
    await cluster.kubectl(["create", "namespace", NAMESPACE]);
    const keys = await newKeyPair("ecdsa-p384");
    const pem = newAuthority(keys, { name: "town", trustDomain: "town.example", days: 10, now: Date.now() });
    ca = { signer: { certificate: new X509Certificate(pem), key: keys.privateKey }, chain: "", bundle: pem };
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
    reconciler = new CertificateReconciler(deps, { trustDomain: "town.example" });
  }, LIMIT_MS);

  afterAll(async () => {
    stop.abort();
    await running;
    await cluster?.[Symbol.asyncDispose]();
  }, LIMIT_MS);

  async function here(context: TestContext): Promise<TestCluster> {
    if (cluster !== undefined) return cluster;
    for (const name of ["kubectl", "cluster"] as const) await requireComponent(context, name);
    return context.skip("no cluster");
  }

  const get = async (kind: string, name: string) =>
    JSON.parse(await (cluster as TestCluster).kubectl(["-n", NAMESPACE, "get", kind, name, "-o", "json"]));

  /** A pod that waits for its Secret, as the controller makes them. */
  async function gatedPod(name: string): Promise<void> {
    const spec = {
      schedulingGates: [{ name: GATE }, { name: "example.org/other" }],
      containers: [{ name: "agent", image: "x" }],
    };
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: { ...spec, automountServiceAccountToken: false },
    };
    const create = async () =>
      await (cluster as TestCluster).kubectl(["-n", NAMESPACE, "create", "-f", "-"], JSON.stringify(pod));
    await until("the namespace's service account", 20_000, () => create().catch(() => undefined));
  }

  const look = async (name: string, pod?: ReturnType<typeof observePod>) =>
    reconciler.reconcile(
      { sessionId: name, pod: pod ?? observePod(await get("pod", name)), secretName: `${name}-tls` },
      AbortSignal.timeout(20_000),
    );

  const leafOf = (secret: { readonly data: Record<string, string> }) =>
    new X509Certificate(Buffer.from(secret.data["tls.crt"] ?? "", "base64"));

  it("is made before the pod's gate goes, is owned by the pod, and other gates stay", {
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

  it("is repaired whatever was done to it by hand", { timeout: LIMIT_MS }, async (context) => {
    const found = await here(context);
    await gatedPod("damaged");
    await look("damaged");
    const patch = async (body: unknown) =>
      await found.kubectl([
        "-n",
        NAMESPACE,
        "patch",
        "secret",
        "damaged-tls",
        "--type=merge",
        "-p",
        JSON.stringify(body),
      ]);
    const damages: (() => Promise<unknown>)[] = [
      () => found.kubectl(["-n", NAMESPACE, "delete", "secret", "damaged-tls"]),
      () => patch({ data: { "tls.key": null } }),
      () => patch({ data: { "ca.crt": Buffer.from("x").toString("base64") } }),
      () => patch({ metadata: { ownerReferences: null } }),
    ];
    for (const damage of damages) {
      await damage();
      for (let again = true; again; ) again = (await look("damaged")).type === "waiting";
      const secret = await get("secret", "damaged-tls");
      expect(Object.keys(secret.data).sort()).toEqual(["ca.crt", "tls.crt", "tls.key"]);
      expect(Buffer.from(secret.data["ca.crt"], "base64").toString()).toBe(ca.bundle);
      expect(secret.metadata.ownerReferences).toHaveLength(1);
    }
  });

  it("is not written for a pod that was replaced by one of its name meanwhile", {
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

  it("leaves a Secret of that name that is someone else's as it is", { timeout: LIMIT_MS }, async (context) => {
    const found = await here(context);
    await gatedPod("theirs");
    await found.kubectl(["-n", NAMESPACE, "create", "secret", "generic", "theirs-tls", "--from-literal=password=x"]);
    expect(await look("theirs")).toMatchObject({ type: "refused", why: "not-ours" });
    expect(Object.keys((await get("secret", "theirs-tls")).data)).toEqual(["password"]);
  });

  it("goes with its pod", { timeout: LIMIT_MS }, async (context) => {
    const found = await here(context);
    await gatedPod("leaving");
    await look("leaving");
    await found.kubectl(["-n", NAMESPACE, "delete", "pod", "leaving", "--force", "--grace-period=0"]);
    const isGone = async () =>
      (await found.kubectl(["-n", NAMESPACE, "get", "secrets", "-o", "name"])).includes("leaving-tls") === false;
    await until("the Secret's end", 60_000, async () => (await isGone()) || undefined);
  });
});
