import { X509Certificate } from "node:crypto";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FakeKube } from "../../../test/fakes/fake-kube.ts";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { runTasks } from "../../base/task-group.ts";
import { newAuthority } from "../../pki/authority.ts";
import { newKeyPair } from "../../pki/key-pair.ts";
import { SessionPods } from "../pods/session-pods.ts";
import type { NamespaceBinding } from "../pods/settings.ts";
import { caId } from "./ca-secret.ts";
import { type IssuingCa, newSessionCertificate } from "./session-certificate.ts";
import { SessionSecrets } from "./session-secrets.ts";

const PODS = "/api/v1/namespaces/agents/pods";
const SECRETS = "/api/v1/namespaces/agents/secrets";
const OURS = { "app.kubernetes.io/managed-by": "gastown", "gastown.io/session": "one" };
const BINDING: NamespaceBinding = { name: "agents", project: "shop", templates: new Map(), credentials: "secret" };

describe("the watch of sessions' Secrets", () => {
  let ca: IssuingCa;
  let kube: FakeKube;
  let clock: FakeClock;
  let secrets: SessionSecrets;
  let pods: SessionPods;
  let changed: string[];
  let delays: number[];
  let stop: AbortController;
  let running: Promise<void>;

  beforeAll(async () => {
    const keys = await newKeyPair("ecdsa-p384");
    const options = { name: "town", trustDomain: "town.example", days: 10, now: new FakeClock().now() };
    const pem = newAuthority(keys, options);
    ca = { signer: { certificate: new X509Certificate(pem), key: keys.privateKey }, chain: "", bundle: pem };
  });

  beforeEach(async () => {
    clock = new FakeClock();
    kube = new FakeKube(() => clock.now());
    const labels = { "gastown.io/agent": "one", "app.kubernetes.io/managed-by": "gastown" };
    kube.set(PODS, { metadata: { name: "agent-one", labels, annotations: { "gastown.io/session-id": "one" } } });
    const deps = { api: kube, clock, logger: silentLogger, random: () => 0.5 };
    pods = new SessionPods(deps, [BINDING]);
    [changed, delays] = [[], []];
    const onChanged = ({ key }: { readonly key: { readonly id: string } }, delayMs: number) => {
      changed.push(key.id);
      delays.push(delayMs);
    };
    secrets = new SessionSecrets({ ...deps, pods, onChanged }, [
      BINDING,
      { ...BINDING, name: "plain", credentials: "plaintext" },
    ]);
    stop = new AbortController();
    running = runTasks(stop.signal, [pods, secrets]);
    await settle();
  });

  afterEach(async () => {
    stop.abort(new Error("stopped"));
    await running;
  });

  async function put(labels: Record<string, string> = OURS) {
    const identity = { trustDomain: "town.example", namespace: "agents", sessionId: "one" };
    const { cert, key, leaf } = await newSessionCertificate(identity, ca, clock.now());
    const data = Object.entries({ "tls.crt": cert, "tls.key": key, "ca.crt": ca.bundle });
    kube.set(SECRETS, {
      metadata: { name: "agent-one-tls", labels },
      data: Object.fromEntries(data.map(([name, text]) => [name, Buffer.from(text).toString("base64")])),
    });
    await settle();
    return leaf;
  }

  it("keeps little of a Secret with our labels, whatever it contains", async () => {
    const many = ca.bundle.repeat(1_000);
    const data = { "tls.crt": many, "ca.crt": many };
    kube.set(SECRETS, {
      metadata: { name: "agent-one-tls", labels: OURS },
      data: Object.fromEntries(
        Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString("base64")]),
      ),
    });
    await settle();
    const [record] = pods.all();
    const facts = record && secrets.of(record);
    expect(facts?.serial).toBe(ca.signer.certificate.serialNumber);
    expect(facts?.caSha256.length).toBeLessThanOrEqual(256);
  });

  it("reports each change at once: created, changed, its label removed, deleted", async () => {
    await put();
    await put();
    await put({ app: "shop" });
    await put();
    kube.delete(SECRETS, "agent-one-tls");
    await settle();
    expect(changed).toEqual(["one", "one", "one", "one", "one"]);
  });

  it("does not fight over a Secret that another party keeps rewriting", async () => {
    for (let i = 0; i < 40; i++)
      kube.set(SECRETS, { metadata: { name: "agent-one-tls", labels: OURS }, data: { i: "" } });
    await settle();
    expect(delays).toEqual([...Array(30).fill(0), ...Array(10).fill(5_000)]);
    await clock.advance(10_000);
    delays = [];
    for (let i = 0; i < 3; i++) kube.set(SECRETS, { metadata: { name: "agent-one-tls", labels: OURS } });
    await settle();
    expect(delays).toEqual([0, 0, 5_000]);
  });

  it("keeps the facts of a session's certificate, and no key", async () => {
    const leaf = await put();
    const record = pods.get({ project: "shop", id: "one" });
    const facts = record && secrets.of(record);
    expect(facts).toEqual({
      serial: leaf.serialNumber,
      issuer: "CN=town",
      notAfter: leaf.validToDate.getTime(),
      caSha256: [caId(ca.signer.certificate)],
    });
    expect(secrets.earliestEnd).toBe(leaf.validToDate.getTime());
  });

  it("returns the same object for a Secret until the Secret changes", async () => {
    expect(secrets.shown("agents", "agent-one-tls")).toBeUndefined();
    await put();
    const shown = secrets.shown("agents", "agent-one-tls");
    expect(shown).toMatchObject({ resourceVersion: kube.get(`${SECRETS}/agent-one-tls`)?.metadata.resourceVersion });
    kube.set(PODS, { metadata: { name: "other", labels: { "gastown.io/agent": "other" } } });
    await settle();
    expect(secrets.shown("agents", "agent-one-tls")).toBe(shown);
    await put();
    expect(secrets.shown("agents", "agent-one-tls")).not.toBe(shown);
  });

  it("ignores invalid content, and Secrets that no session should have", async () => {
    kube.set(SECRETS, { metadata: { name: "agent-one-tls", labels: OURS }, data: { "tls.crt": "!", "ca.crt": 5 } });
    kube.set(SECRETS, { metadata: { name: "agent-two-tls", labels: OURS } });
    await settle();
    expect(changed).toEqual(["one"]);
    const record = pods.get({ project: "shop", id: "one" });
    expect(record && secrets.of(record)).toEqual({ serial: "", issuer: "", notAfter: 0, caSha256: [] });
    expect(secrets.earliestEnd).toBeUndefined();
  });

  it("does not request Secrets of a namespace without certificates", () => {
    expect(kube.requests.filter(({ path }) => path.includes("/plain/secrets"))).toEqual([]);
    expect(secrets.isSynced).toBe(true);
  });
});
