import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { newAuthority } from "../../pki/authority.ts";
import { newKeyPair, privateKeyPem } from "../../pki/key-pair.ts";
import { newLeaf } from "../../pki/leaf.ts";
import { type CertificateCase, certificateAction, type ObservedSecret, POLICY_NAMES } from "./certificate-policies.ts";
import { type IssuingCa, newSessionCertificate, renewalTime } from "./session-certificate.ts";

const NOW = Date.UTC(2026, 0, 1, 12);
const HOUR_MS = 3_600_000;
const IDENTITY = { trustDomain: "town.example", namespace: "agents", sessionId: "one" };
const POD = { name: "agent-one", uid: "u1" };

async function authority(name: string): Promise<IssuingCa> {
  const keys = await newKeyPair("ecdsa-p384");
  const pem = newAuthority(keys, { name, trustDomain: "town.example", days: 10, now: NOW });
  return { signer: { certificate: new X509Certificate(pem), key: keys.privateKey }, chain: "", bundle: pem };
}

describe("a session's Secret", () => {
  let ca: IssuingCa;
  let other: IssuingCa;
  let good: ObservedSecret;
  const secret = (change: Partial<ObservedSecret>, data: Record<string, string | undefined> = {}): ObservedSecret => {
    const all = Object.entries({ ...good.data, ...data }).filter(([, value]) => value !== undefined);
    return { ...good, ...change, data: Object.fromEntries(all) as Record<string, string> };
  };
  const decide = (one: ObservedSecret | undefined, change: Partial<CertificateCase> = {}) =>
    certificateAction({ identity: IDENTITY, pod: POD, secret: one, ca, now: NOW, ...change });
  const leafFor = async (identity = IDENTITY, from = ca, now = NOW) => {
    const { cert, key } = await newSessionCertificate(identity, from, now);
    return { "tls.crt": cert, "tls.key": key };
  };

  beforeAll(async () => {
    [ca, other] = await Promise.all([authority("town"), authority("other")]);
    good = {
      name: "agent-one-tls",
      uid: "s1",
      resourceVersion: "5",
      labels: { "app.kubernetes.io/managed-by": "gastown", "gastown.io/session": "one" },
      owners: [{ kind: "Pod", ...POD }],
      deleting: false,
      data: { "ca.crt": ca.bundle },
    };
    good = secret({}, await leafFor());
  });

  it("of an adopted pod passes to the pod that replaces it once it has ended", () => {
    const before = { kind: "Pod", name: "evicted", uid: "u0" };
    const shared = { name: "gastown-session-one", owners: [before] };
    expect(decide(secret(shared))).toEqual({ type: "issue", why: "pod-replaced" });
    expect(decide(secret({ ...shared, deleting: true })).type).toBe("wait");
    expect(decide(secret({ ...shared, labels: {} })).type).toBe("refuse");
    expect(decide(secret({ ...shared, owners: [{ ...before, kind: "ConfigMap" }] })).type).toBe("refuse");
    expect(decide(secret({ owners: [before] })).type).toBe("refuse");
  });

  it("is kept until half of its certificate's lifetime, plus or minus a tenth", () => {
    const action = decide(good);
    // It is backdated by a quarter of an hour, for clocks that are behind.
    const start = NOW - HOUR_MS / 4;
    const life = HOUR_MS * 24;
    expect(action).toEqual({ type: "keep", renewAt: expect.any(Number) });
    if (action.type !== "keep") return;
    expect(action.renewAt).toBeGreaterThanOrEqual(start + life * 0.4);
    expect(action.renewAt).toBeLessThanOrEqual(start + life * 0.6);
    expect(decide(good, { now: action.renewAt - 1 }).type).toBe("keep");
    expect(decide(good, { now: action.renewAt })).toEqual({ type: "issue", why: "renewal-due" });
  });

  it("is renewed at times that are spread over hours", async () => {
    const leaves = await Promise.all(Array.from({ length: 20 }, () => newSessionCertificate(IDENTITY, ca, NOW)));
    const times = leaves.map(({ leaf }) => renewalTime(leaf, ca));
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(HOUR_MS);
  });

  it("is kept if its certificate ends with its CA, because the next one would end then, too", async () => {
    const end = ca.signer.certificate.validToDate.getTime();
    for (const leftMs of [20 * HOUR_MS, HOUR_MS / 6]) {
      const last = secret({}, await leafFor(IDENTITY, ca, end - leftMs));
      for (const now of [end - leftMs, end - 1, end + HOUR_MS]) {
        expect(decide(last, { now })).toEqual({ type: "keep", renewAt: Number.POSITIVE_INFINITY });
      }
    }
  });

  it("has a certificate for servers only, valid for a day, with the session's two names", async () => {
    const { leaf } = await newSessionCertificate(IDENTITY, ca, NOW);
    expect(leaf.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
    expect(leaf.subjectAltName).toBe(
      "URI:spiffe://town.example/ns/agents/session/one, DNS:7692c3ad3540bb803c020b3aee66cd88.agents.session.town.example",
    );
    expect(leaf.validToDate.getTime() - leaf.validFromDate.getTime()).toBe(24 * HOUR_MS);
  });

  it("gets a new key with each certificate", async () => {
    const [one, two] = [await leafFor(), await leafFor()];
    expect(one["tls.key"]).not.toBe(two["tls.key"]);
  });

  /** For each policy, a Secret to which it objects, the resulting action, and changes of the case. */
  const faults: Record<
    string,
    () => Promise<readonly [ObservedSecret | undefined, string, Partial<CertificateCase>?]>
  > = {
    "secret-absent": async () => [undefined, "issue"],
    "pod-replaced": async () => [
      secret({ name: "gastown-session-one", owners: [{ kind: "Pod", name: "evicted", uid: "u0" }] }),
      "issue",
    ],
    "being-deleted": async () => [secret({ deleting: true }), "wait"],
    "not-ours": async () => [secret({ labels: {}, owners: [] }), "refuse"],
    "other-owner": async () => [secret({ owners: [{ kind: "Pod", name: POD.name, uid: "u0" }] }), "recreate"],
    fixed: async () => [secret({ fixed: true }, { "tls.key": undefined }), "recreate"],
    "data-missing": async () => [secret({}, { "tls.key": undefined }), "issue"],
    "pair-mismatch": async () => [secret({}, { "tls.key": (await leafFor())["tls.key"] }), "issue"],
    "wrong-issuer": async () => [secret({}, await leafFor(IDENTITY, other)), "issue"],
    "wrong-names": async () => [secret({}, await leafFor({ ...IDENTITY, sessionId: "two" })), "issue"],
    "not-yet-valid": async () => [secret({}, await leafFor(IDENTITY, ca, NOW + HOUR_MS)), "issue"],
    "renewal-due": async () => [good, "issue", { now: NOW + 20 * HOUR_MS }],
    "bundle-stale": async () => [secret({}, { "ca.crt": other.bundle }), "refresh"],
    "list-stale": async () => [good, "refresh", { ca: { ...ca, crl: "a list" } }],
    "labels-changed": async () => [secret({ labels: { "app.kubernetes.io/managed-by": "shop" } }), "refresh"],
  };

  it.for(Object.entries(faults))("is judged by the policy %s", async ([why, fault]) => {
    const [one, type, change] = await fault();
    expect(decide(one, change)).toEqual({ type, why });
  });

  it("has a test for each of its policies, in their order", () => {
    expect(Object.keys(faults)).toEqual(["secret-absent", ...POLICY_NAMES]);
  });

  it.for([
    ["emptied", { "tls.crt": "" }],
    ["no certificate", { "tls.crt": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" }],
    ["deleted", { "tls.crt": undefined }],
  ] as const)("is issued again when its certificate is %s", ([, data]) => {
    expect(decide(secret({}, data))).toEqual({ type: "issue", why: "data-missing" });
  });

  it("is issued again if its key is invalid", () => {
    expect(decide(secret({}, { "tls.key": "none" }))).toEqual({ type: "issue", why: "pair-mismatch" });
  });

  it("is issued again if its certificate may call others, even with the right names", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-384" });
    const [uri, dns] = (await newSessionCertificate(IDENTITY, ca, NOW)).leaf.subjectAltName?.split(", ") ?? [];
    expect(uri).toBeDefined();
    const client = newLeaf(
      {
        type: "client",
        name: "one",
        hosts: [dns?.slice(4) ?? ""],
        uris: [],
        trustDomain: "town.example",
        namespace: "",
        crlUrl: undefined,
        days: 1,
        now: NOW,
      },
      publicKey,
      ca.signer,
    );
    const data = { "tls.crt": client, "tls.key": privateKeyPem(privateKey) };
    expect(decide(secret({}, data))).toEqual({ type: "issue", why: "wrong-names" });
  });

  it.for([
    ["a Deployment", [{ kind: "Deployment", name: "agent-one", uid: "d1" }]],
    ["a pod of another name", [{ kind: "Pod", name: "agent-two", uid: "u2" }]],
  ] as const)("is not changed if %s owns it", ([, owners]) => {
    expect(decide(secret({ owners }))).toEqual({ type: "refuse", why: "other-owner" });
  });

  it("is recreated if its owner was removed, because nothing else would delete it", () => {
    expect(decide(secret({ owners: [] }))).toEqual({ type: "recreate", why: "other-owner" });
  });
});
