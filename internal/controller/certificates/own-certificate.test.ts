import { X509Certificate } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { newAuthority } from "../../pki/authority.ts";
import { newKeyPair, privateKeyPem } from "../../pki/key-pair.ts";
import type { TlsFiles } from "../../pki/tls-files.ts";
import { CaCache } from "./ca-cache.ts";
import { type CaMaterial, readCaSecret } from "./ca-secret.ts";
import { OwnCertificate, type OwnNames } from "./own-certificate.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const URI = "spiffe://town.example/ns/gastown/controller";

describe("the controller's own certificate", () => {
  let clock: FakeClock;
  let stop: AbortController;
  let running: Promise<void>[];

  beforeEach(() => {
    [clock, stop, running] = [new FakeClock(), new AbortController(), []];
  });
  afterEach(async () => {
    stop.abort(new Error("test ends"));
    await Promise.all(running);
    expect(clock.sleeping).toBe(0);
  });

  /** A CA that is valid for 30 days, with `leftMs` left. */
  async function authority(leftMs = 30 * DAY_MS): Promise<{ readonly "ca.crt": string; readonly "ca.key": string }> {
    const keys = await newKeyPair("ecdsa-p384");
    const now = clock.now() + leftMs - 30 * DAY_MS;
    const options = { name: "town", trustDomain: "town.example", days: 30, now };
    return { "ca.crt": newAuthority(keys, options), "ca.key": privateKeyPem(keys.privateKey) };
  }
  function cache(
    read: () => Record<string, string> | undefined,
    onChanged: (ca: CaMaterial) => void,
    reloadMs = 15_000,
  ): CaCache {
    let version = 0;
    let before: Record<string, string> | undefined;
    const get = async () => {
      const data = read();
      // As in the API server, only new content gets a new version, so half a day of reads of the same content is fast.
      if (data !== before) version++;
      before = data;
      const secret = { name: "ca", uid: "u", labels: {}, owners: [], deleting: false };
      return data && { ...secret, resourceVersion: String(version), data };
    };
    const made = new CaCache(
      { secrets: { get }, clock, logger: silentLogger, onChanged },
      { namespace: "gastown-ca", secret: "gastown-ca", reloadMs, keepPreviousMs: 0 },
    );
    running.push(made.run(stop.signal));
    return made;
  }
  function certificate(names: OwnNames): { readonly own: OwnCertificate; readonly made: TlsFiles[] } {
    const made: TlsFiles[] = [];
    const own = new OwnCertificate({ clock, logger: silentLogger, onRenewed: (files) => void made.push(files) }, names);
    running.push(own.run(stop.signal));
    return { own, made };
  }
  async function count(made: readonly unknown[], wanted: number): Promise<void> {
    while (made.length < wanted) await new Promise((resolve) => setTimeout(resolve, 1));
  }

  it("names the controller for calls, and its hosts for its port", async () => {
    const data = await authority();
    const client = certificate({ type: "client", uri: URI });
    const server = certificate({ type: "server", hosts: ["gastown.gastown.svc", "127.0.0.1"] });
    cache(
      () => data,
      (ca) => {
        client.own.follow(ca);
        server.own.follow(ca);
      },
    );
    await count(client.made, 1);
    await count(server.made, 1);
    const [first, second] = [client.made, server.made].map(([files]) => new X509Certificate(files?.cert ?? ""));
    expect([first?.subjectAltName, first?.keyUsage]).toEqual([`URI:${URI}`, ["1.3.6.1.5.5.7.3.2"]]);
    expect(second?.subjectAltName).toBe("DNS:gastown.gastown.svc, IP Address:127.0.0.1");
    expect(client.own.files?.ca).toBe(data["ca.crt"]);
  });

  it("is renewed with a new key at half its lifetime, and when the CA changes", async () => {
    const { own, made } = certificate({ type: "client", uri: URI });
    let data = await authority();
    const seen: CaMaterial[] = [];
    cache(
      () => data,
      (ca) => {
        if (seen.at(-1)?.bundle !== ca.bundle) own.follow(ca);
        seen.push(ca);
      },
      HOUR_MS,
    );
    await count(made, 1);
    await clock.advance(15 * HOUR_MS);
    await count(made, 2);
    expect(new Set(made.map(({ key }) => key)).size).toBe(2);
    data = await authority();
    await clock.advance(HOUR_MS);
    await count(made, 3);
    expect(made.at(-1)?.ca).toBe(data["ca.crt"]);
  });

  it("is renewed within a minute after a suspension of its machine past the due time", async () => {
    const { own, made } = certificate({ type: "client", uri: URI });
    const data = await authority();
    cache(
      () => data,
      (ca) => own.follow(ca),
    );
    await count(made, 1);
    clock.jump(30 * HOUR_MS);
    await clock.advance(60_000);
    await count(made, 2);
    expect(new X509Certificate(made[1]?.cert ?? "").validToDate.getTime()).toBeGreaterThan(clock.now());
  });

  it.each([10 * 60_000, -1])("is issued once from a CA that ends in %i ms, and not repeatedly", async (leftMs) => {
    const { own, made } = certificate({ type: "client", uri: URI });
    const data = await authority(HOUR_MS);
    clock.jump(HOUR_MS - leftMs);
    own.follow(readCaSecret(data, clock.now() - HOUR_MS));
    await count(made, 1);
    // Wait about as long as creating further certificates would take.
    for (let i = 0; i < 5; i++) await newKeyPair("ecdsa-p384");
    await clock.advance(HOUR_MS);
    expect(made).toHaveLength(1);
  });

  it("is not issued from an expired CA", async () => {
    const data = await authority(HOUR_MS);
    const ca = cache(
      () => data,
      () => {},
      HOUR_MS,
    );
    await clock.advance(HOUR_MS / 2);
    expect(ca.get().bundle).toBe(data["ca.crt"]);
    await clock.advance(HOUR_MS);
    expect(() => ca.get()).toThrow(
      expect.objectContaining({
        kind: "unavailable",
        message: "the CA in the Secret gastown-ca/gastown-ca has expired",
      }),
    );
  });

  it("is issued from the last good CA while the Secret is damaged or missing", async () => {
    let data: Record<string, string> | undefined;
    const seen: CaMaterial[] = [];
    const ca = cache(
      () => data,
      (each) => seen.push(each),
    );
    await clock.advance(1_000);
    expect(() => ca.get()).toThrow(expect.objectContaining({ kind: "unavailable" }));
    data = { ...(await authority()) };
    await clock.advance(2_000);
    expect(seen).toHaveLength(1);
    const { bundle } = ca.get();
    data = { "ca.crt": "damaged" };
    await clock.advance(60_000);
    data = undefined;
    await clock.advance(60_000);
    expect(ca.get().bundle).toBe(bundle);
    expect(seen).toHaveLength(1);
  });
});
