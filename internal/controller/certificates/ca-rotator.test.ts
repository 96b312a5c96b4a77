import { X509Certificate } from "node:crypto";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FakeSecrets } from "../../../test/support/cluster/fake-secrets.ts";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { crossSign } from "../../pki/cross-signature.ts";
import { signRevocationList } from "../../pki/sign-revocation-list.ts";
import { Trust } from "../../pki/trust.ts";
import { hasFollowed, type SidecarReport } from "./ca-rotation.ts";
import { CaRotator } from "./ca-rotator.ts";
import { type CaSecretData, caId, readCaSecret } from "./ca-secret.ts";
import { introduceSuccessor, newSessionsCa } from "./ca-successor.ts";
import type { RotationPhase } from "./rotation-reports.ts";
import { newSessionCertificate } from "./session-certificate.ts";

const CA = { namespace: "ca", secret: "ca", reloadMs: 15_000, keepPreviousMs: 120_000 };
const TOWN = "town.example";

describe("the replacement of the CA by the replica that leads", () => {
  let clock: FakeClock;
  let first: CaSecretData;
  let begun: CaSecretData;
  let secrets: FakeSecrets;
  /** Sessions whose sidecars lag behind. */
  let lagging: string[];
  let notes: string[];
  let stop: AbortController;
  let running: Promise<void>;

  beforeAll(async () => {
    const now = new FakeClock().now();
    const { cert, key } = await newSessionsCa(TOWN, now - 1_000);
    first = { "ca.crt": cert, "ca.key": key };
    begun = await introduceSuccessor(first, { trustDomain: TOWN, now });
  });

  beforeEach(() => {
    clock = new FakeClock();
    secrets = new FakeSecrets();
    lagging = [];
    notes = [];
    stop = new AbortController();
  });

  afterEach(async () => {
    stop.abort(new Error("stopped"));
    await running;
  });

  const data = () => secrets.secrets.get("ca")?.data ?? {};
  const phase = () => readCaSecret(data(), clock.now()).state.type;

  async function lead(from?: CaSecretData): Promise<CaRotator> {
    if (from !== undefined) await secrets.create("ca", { name: "ca", labels: {}, data: from });
    const collect = async ({ state }: RotationPhase): Promise<readonly SidecarReport[]> => {
      const followed = {
        caSha256: state.type === "introducing" ? [state.next] : [state.current],
        issuer: state.current,
      };
      const reports = ["one", "two"].map((session) =>
        lagging.includes(session) ? { session, caSha256: undefined, issuer: undefined } : { session, ...followed },
      );
      expect(reports.some((report) => !hasFollowed(state, report))).toBe(lagging.length > 0);
      return reports;
    };
    const events = {
      tell: async (_: object, { reason, message }: { reason: string; message: string }) =>
        void notes.push(`${reason}: ${message}`),
    };
    const deps = { clock, logger: silentLogger, secrets, isSynced: () => true, onWritten: () => {} };
    const rotator = new CaRotator({ ...deps, reports: { collect }, events: events as never }, CA);
    running = rotator.run(stop.signal);
    await settle();
    return rotator;
  }

  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 2_000) {
      await clock.advance(Math.min(2_000, left));
      await settle();
    }
  }

  it("goes from the old CA to the new one, keeps each step until every replica has read it, and drops the old CA last", async () => {
    await lead(begun);
    await pass(44_000);
    expect(phase()).toBe("introducing");
    await pass(4_000);
    expect(phase()).toBe("reissuing");
    expect(data()["previous.crt"]).toBe(first["ca.crt"]);
    await pass(CA.keepPreviousMs - 60_000);
    await pass(40_000);
    expect(phase()).toBe("reissuing");
    await pass(45_000);
    expect(phase()).toBe("retiring");
    expect(readCaSecret(data(), clock.now()).bundle).toBe(begun["next.crt"]);
    await pass(60_000);
    expect(Object.keys(data()).sort()).toEqual(["ca.crt", "ca.key", "rotation.json"]);
    expect(notes.map((note) => note.split(":")[0])).toEqual([
      "CaRotationBegan",
      "CaSignerChanged",
      "CaRetiring",
      "CaRotationDone",
    ]);
    expect(secrets.writes).toEqual(["create ca", "patch ca", "patch ca", "patch ca"]);
  });

  it("waits while a sidecar lags behind, reports it, and repeats its name every five minutes", async () => {
    lagging = ["two"];
    const rotator = await lead(begun);
    await pass(620_000);
    expect(phase()).toBe("introducing");
    expect(rotator.status).toEqual({ phase: "introducing", waitingFor: ["two"] });
    expect(notes.slice(1)).toEqual(Array(2).fill("CaRotationWaits: introducing: waits for two"));
    lagging = [];
    await pass(16_000);
    expect(phase()).toBe("reissuing");
  });

  it("continues where the previous replica stopped, whichever write is missing", async () => {
    await lead(begun);
    for (const wanted of ["reissuing", "retiring", "steady"]) {
      secrets.crashBefore = secrets.writes.length;
      await pass(60_000);
      stop.abort(new Error("killed"));
      await running;
      if (phase() === "reissuing") await pass(CA.keepPreviousMs);
      secrets.crashBefore = undefined;
      stop = new AbortController();
      await lead();
      await pass(60_000);
      expect(phase()).toBe(wanted);
      expect(secrets.writes.length).toBeLessThanOrEqual(4);
      stop.abort(new Error("killed"));
      await running;
      stop = new AbortController();
      if (wanted !== "steady") await lead();
    }
  });

  it("does not overwrite a Secret that a person changes at the same moment, and reads it again", async () => {
    await lead(begun);
    const patch = secrets.patch.bind(secrets);
    secrets.patch = async (...args) => {
      secrets.patch = patch;
      secrets.change("ca", { data: { ...data(), note: "by hand" } });
      await patch(...args);
    };
    await pass(80_000);
    expect([phase(), data()["note"]]).toEqual(["reissuing", "by hand"]);
  });

  it("waits until the new CA has signed the CAs of callers, and keeps only revocation lists that are still of use", async () => {
    const other = await newSessionsCa("shop.example", clock.now());
    const signerOf = (from: CaSecretData) => readCaSecret(from, clock.now()).signer;
    const options = {
      usage: "client",
      permitDns: [],
      permitIp: [],
      trustDomain: undefined,
      crlUrl: undefined,
      days: 300,
    } as const;
    const cross = (from: CaSecretData) =>
      crossSign(new X509Certificate(other.cert), signerOf(from), { ...options, now: clock.now() });
    const list = { number: 1, thisUpdate: clock.now(), nextUpdate: clock.now() + 300 * 86_400_000, revoked: [] };
    const crl = signRevocationList(list, signerOf(first));
    const rotator = await lead({ ...begun, "clients.crt": cross(first), "crl.pem": crl });
    await pass(60_000);
    await pass(CA.keepPreviousMs);
    await pass(60_000);
    expect(phase()).toBe("reissuing");
    expect(rotator.status.waitingFor).toEqual([expect.stringContaining("clients.crt: CN=gastown")]);
    secrets.change("ca", { data: { ...data(), "clients.crt": cross(first) + cross(data()) } });
    await pass(20_000);
    expect([phase(), data()["crl.pem"]]).toEqual(["retiring", undefined]);
  });

  it("lets peers that trust only the old CA accept new certificates until the old CA is dropped", async () => {
    await lead(begun);
    await pass(60_000);
    const ca = readCaSecret(data(), clock.now());
    const identity = { trustDomain: TOWN, namespace: "agents", sessionId: "one" };
    const { leaf } = await newSessionCertificate(identity, ca, clock.now());
    const trust = new Trust([new X509Certificate(first["ca.crt"] ?? "")]);
    expect(trust.standing(leaf, clock.now())).toBe("untrusted");
    const again = new X509Certificate(leaf.raw);
    expect(trust.standing(again, clock.now(), [new X509Certificate(ca.chain)])).toBe("good");
  });

  it("is not started twice, and uses a next CA that is already in the Secret", async () => {
    running = Promise.resolve();
    expect(await introduceSuccessor(begun, { trustDomain: TOWN, now: clock.now() })).toBe(begun);
    const own = await newSessionsCa(TOWN, clock.now() + 5_000);
    const given = await introduceSuccessor(
      { ...first, "next.crt": own.cert, "next.key": own.key },
      { trustDomain: TOWN, now: clock.now() },
    );
    expect(readCaSecret(given, clock.now()).state).toMatchObject({ next: caId(new X509Certificate(own.cert)) });
    const same = introduceSuccessor(
      { ...first, "next.crt": first["ca.crt"] ?? "", "next.key": first["ca.key"] ?? "" },
      { trustDomain: TOWN, now: clock.now() },
    );
    await expect(same).rejects.toThrow("has the key of the previous one");
    const unreadable = introduceSuccessor(
      { ...first, "next.crt": own.cert, "next.key": own.cert },
      { trustDomain: TOWN, now: clock.now() },
    );
    await expect(unreadable).rejects.toMatchObject({ kind: "invalid", message: expect.stringMatching(/^next\.key /) });
  });
});
