import { X509Certificate } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FakeSecrets } from "../../../test/support/cluster/fake-secrets.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { newAuthority } from "../../pki/authority.ts";
import { newKeyPair } from "../../pki/key-pair.ts";
import { type ObservedPod, observePod } from "../pods/observed-pod.ts";
import { CertificateReconciler } from "./certificate-reconciler.ts";
import type { PodNote, PodNotes } from "./secret-store.ts";
import type { IssuingCa } from "./session-certificate.ts";
import type { ShownVersionOf } from "./shown-secrets.ts";

const HOUR_MS = 3_600_000;
const never = new AbortController().signal;

/** The Secrets of a namespace, and the notes on one pod. */
class FakeNamespace extends FakeSecrets implements PodNotes {
  pod: ObservedPod;

  constructor(pod: ObservedPod) {
    super();
    this.pod = pod;
  }

  async announce(pod: { readonly name: string; readonly uid: string }, { serial, tlsHash }: PodNote): Promise<void> {
    this.beforeWrite("announce");
    if (pod.uid !== this.pod.uid) throw new DomainError("precondition", "another pod");
    const annotations = { "gastown.io/cert-serial": serial, "gastown.io/tls-hash": tlsHash };
    this.pod = { ...this.pod, annotations, gates: [] };
  }
}

describe("the Secret of a session's pod", () => {
  let ca: IssuingCa;
  let clock: FakeClock;
  let cluster: FakeNamespace;
  let reconciler: CertificateReconciler;
  const secret = () => cluster.secrets.get("agent-one-tls");
  const leaf = () => new X509Certificate(secret()?.data["tls.crt"] ?? "");
  const look = () => reconciler.reconcile({ sessionId: "one", pod: cluster.pod, secretName: "agent-one-tls" }, never);

  beforeAll(async () => {
    const keys = await newKeyPair("ecdsa-p384");
    const pem = newAuthority(keys, { name: "town", trustDomain: "town.example", days: 10, now: Date.now() });
    ca = { signer: { certificate: new X509Certificate(pem), key: keys.privateKey }, chain: "", bundle: pem };
  });

  beforeEach(() => {
    clock = new FakeClock(Date.now());
    const metadata = { name: "agent-one", namespace: "agents", uid: "u1", resourceVersion: "1" };
    const spec = { schedulingGates: [{ name: "gastown.io/certificate" }] };
    cluster = new FakeNamespace(observePod({ metadata, spec }));
    const deps = { secrets: cluster, notes: cluster, ca: () => ca, clock, logger: silentLogger };
    reconciler = new CertificateReconciler(deps, { trustDomain: "town.example" });
  });

  it("is created and named on the pod, whose gate is then removed; a second look writes nothing", async () => {
    await look();
    expect(secret()).toMatchObject({
      labels: { "app.kubernetes.io/managed-by": "gastown", "gastown.io/session": "one" },
      owners: [{ kind: "Pod", name: "agent-one", uid: "u1" }],
    });
    expect(Object.keys(secret()?.data ?? {})).toEqual(["tls.crt", "tls.key", "ca.crt"]);
    expect(cluster.pod).toMatchObject({ gates: [], annotations: { "gastown.io/cert-serial": leaf().serialNumber } });
    const outcome = await look();
    expect(outcome).toMatchObject({ type: "current" });
    expect(outcome.again.inMs).toBeGreaterThan(9 * HOUR_MS);
    expect(cluster.writes).toEqual(["create agent-one-tls", "announce"]);
  });

  it.for([0, 1])("is complete after a crash before write %d and another look", async (crashBefore) => {
    cluster.crashBefore = crashBefore;
    await expect(look()).rejects.toThrow("crashed");
    cluster.crashBefore = undefined;
    await look();
    expect(cluster.pod).toMatchObject({ gates: [], annotations: { "gastown.io/cert-serial": leaf().serialNumber } });
    expect(cluster.writes).toEqual(["create agent-one-tls", "announce"]);
  });

  it("is renewed at the time that the previous look returned, with a new key", async () => {
    await look();
    const before = secret()?.data["tls.key"];
    const { again } = await look();
    await clock.advance(again.inMs);
    await look();
    expect(secret()?.data["tls.key"]).not.toBe(before);
    expect(cluster.writes.slice(2)).toEqual(["replace agent-one-tls", "announce"]);
  });

  it("gets new CAs and lists beside its certificate, and the pod gets another annotation", async () => {
    await look();
    const before = { serial: leaf().serialNumber, hash: cluster.pod.annotations["gastown.io/tls-hash"] };
    ca = { ...ca, crl: "a list" };
    await look();
    expect(secret()?.data["crl.pem"]).toBe("a list");
    expect(leaf().serialNumber).toBe(before.serial);
    expect(cluster.pod.annotations["gastown.io/tls-hash"]).not.toBe(before.hash);
    ca = { signer: ca.signer, chain: ca.chain, bundle: ca.bundle };
  });

  it("gets its labels back if they were changed by hand, and keeps its certificate", async () => {
    await look();
    const { serialNumber } = leaf();
    cluster.change("agent-one-tls", { labels: { "app.kubernetes.io/managed-by": "shop" } });
    await look();
    expect(secret()?.labels).toEqual({ "app.kubernetes.io/managed-by": "gastown", "gastown.io/session": "one" });
    expect(leaf().serialNumber).toBe(serialNumber);
  });

  it.for([
    ["emptied", { data: {} }],
    ["another key in it", { data: { "tls.crt": "x", "tls.key": "y", "ca.crt": "z" } }],
  ] as const)("is repaired after it was %s by hand", async ([, change]) => {
    await look();
    cluster.change("agent-one-tls", change);
    await look();
    expect(secret()?.data["ca.crt"]).toBe(ca.bundle);
    expect(cluster.pod.annotations["gastown.io/cert-serial"]).toBe(leaf().serialNumber);
  });

  it("is recreated if it was deleted by hand, or belonged to an earlier pod of that name", async () => {
    await look();
    cluster.secrets.delete("agent-one-tls");
    await look();
    cluster.change("agent-one-tls", { owners: [{ kind: "Pod", name: "agent-one", uid: "u0" }] });
    expect(await look()).toMatchObject({ type: "waiting", why: "other-owner", again: { inMs: 0 } });
    await look();
    expect(secret()?.owners).toEqual([{ kind: "Pod", name: "agent-one", uid: "u1" }]);
  });

  it("is never written if it belongs to someone else, not even in part", async () => {
    const theirs = { name: "agent-one-tls", labels: { app: "shop" }, data: { password: "x" } };
    await cluster.create("agents", theirs);
    const before = secret();
    expect(await look()).toMatchObject({ type: "refused", why: "not-ours" });
    expect(secret()).toBe(before);
    expect(cluster.pod.gates).toEqual(["gastown.io/certificate"]);
  });

  it("is waited for with a warning, not an error, while another pod owns it", async () => {
    const logged: string[] = [];
    const logger = { ...silentLogger, warn: () => logged.push("warn"), error: () => logged.push("error") } as Logger;
    const deps = { secrets: cluster, notes: cluster, ca: () => ca, clock, logger };
    reconciler = new CertificateReconciler(deps, { trustDomain: "town.example" });
    await look();
    cluster.change("agent-one-tls", { owners: [{ kind: "Pod", name: "agent-before", uid: "u0" }] });
    const before = secret();
    expect(await look()).toMatchObject({ type: "refused", why: "other-owner" });
    expect([secret(), logged]).toEqual([before, ["warn"]]);
    cluster.secrets.delete("agent-one-tls");
    expect(await look()).toMatchObject({ type: "current" });
  });

  it("stays as another replica has just written it: the slower write is refused", async () => {
    await look();
    const { again } = await look();
    await clock.advance(again.inMs);
    const slow = cluster.get.bind(cluster);
    const seen = await slow("agents", "agent-one-tls");
    await look();
    const serial = leaf().serialNumber;
    cluster.get = async () => seen;
    await expect(look()).rejects.toThrow(expect.objectContaining({ kind: "precondition" }));
    expect(leaf().serialNumber).toBe(serial);
  });

  describe("in a watch", () => {
    let reads: number;
    beforeEach(async () => {
      reads = 0;
      const get = cluster.get.bind(cluster);
      cluster.get = async (namespace, name) => {
        reads++;
        return get(namespace, name);
      };
      const shown: ShownVersionOf = (_, name) => cluster.secrets.get(name);
      const deps = { secrets: cluster, notes: cluster, ca: () => ca, clock, logger: silentLogger, shown };
      reconciler = new CertificateReconciler(deps, { trustDomain: "town.example" });
      await look(); // written
      await look(); // found in order
      reads = 0;
    });

    const setPod = (change: Partial<ObservedPod>) => {
      cluster.pod = { ...cluster.pod, ...change };
    };
    const newCas = () => {
      ca = { ...ca };
    };

    it("is not read again at each change of its pod, and is due at the same time", async () => {
      const read = await look();
      setPod({ status: { ...cluster.pod.status, phase: "Running" } });
      expect(await look()).toEqual(read);
      expect(reads).toBe(0);
    });

    it.for<[string, () => unknown]>([
      ["the watch shows another content", () => cluster.change("agent-one-tls", { data: {} })],
      ["it was deleted", () => cluster.secrets.delete("agent-one-tls")],
      ["the CAs have changed", newCas],
      ["its pod lost the annotation", () => setPod({ annotations: {} })],
      ["another pod has its name", () => setPod({ uid: "u2" })],
      ["a minute has passed", () => clock.advance(60_000)],
      ["it is due for renewal", () => clock.jump(20 * HOUR_MS)],
    ])("is read when %s", async ([, change]) => {
      await change();
      await look();
      expect(reads).toBe(1);
    });
  });

  it("gets nothing once its pod is being deleted", async () => {
    cluster.pod = { ...cluster.pod, deletedAt: Date.now() };
    expect(await look()).toMatchObject({ type: "waiting" });
    expect(cluster.writes).toEqual([]);
  });
});
