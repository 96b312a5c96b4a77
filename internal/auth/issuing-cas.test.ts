import { hash, X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import { Trust } from "../pki/trust.ts";
import {
  acceptsCertificate,
  checkIssuers,
  fingerprintOf,
  type IssuerRule,
  identitiesByCommonName,
} from "./issuing-cas.ts";

const own = new TestCa("own");
const shop = new TestCa("shop");
const twin = new TestCa("shop");
const read = (pem: string) => new X509Certificate(pem);
const cross = read(own.crossSign(shop));
const renewed = read(own.crossSign(shop));
const cas = [read(own.pem), cross, read(own.crossSign(new TestCa("other")))];
const ofShop = read(shop.issue({ cn: "app" }).cert);

const accepts = (rule: IssuerRule, more: Partial<Parameters<typeof acceptsCertificate>[1]> = {}) =>
  acceptsCertificate(rule, { certificate: ofShop, issuer: cross, cas, isOwn: false, ...more });

describe("the tokens of an issuer", () => {
  it("are accepted with certificates of the CA that has the issuer's name, and of no other CA", () => {
    expect(accepts({ issuer: "shop" })).toBe(true);
    expect(accepts({ issuer: "other" })).toBe(false);
    expect(accepts({ issuer: "SHOP" })).toBe(false);
  });

  it("are refused if two CAs have that name", () => {
    expect(accepts({ issuer: "shop" }, { cas: [...cas, read(twin.pem)] })).toBe(false);
    expect(accepts({ issuer: "shop" }, { cas: [...cas, renewed] })).toBe(true);
  });

  it("are accepted with certificates of a CA that the configuration names by the fingerprint of any certificate of that CA", () => {
    expect(accepts({ issuer: "x", cas: [fingerprintOf(cross)] })).toBe(true);
    expect(accepts({ issuer: "x", cas: [fingerprintOf(renewed)] }, { cas: [...cas, renewed] })).toBe(true);
    expect(accepts({ issuer: "shop", cas: [fingerprintOf(read(own.pem))] })).toBe(false);
  });

  it("are accepted with certificates of a CA that the configuration names by file, even if only a cross-signature makes that CA trusted", () => {
    expect(accepts({ issuer: "x", cas: [read(shop.pem)] })).toBe(true);
    expect(accepts({ issuer: "x", cas: [read(twin.pem)] })).toBe(false);
  });

  it("are accepted with a certificate that our own CA issued to a client with the issuer's name", () => {
    const named = (uri: string) => read(own.issue({ uris: [uri], cn: "shop" }).cert);
    const facts = (certificate: X509Certificate, isOwn = true) => ({
      certificate,
      issuer: cas[0] as X509Certificate,
      isOwn,
    });
    expect(accepts({ issuer: "shop" }, facts(named("spiffe://own/client/shop")))).toBe(true);
    expect(accepts({ issuer: "shop" }, facts(named("spiffe://own/client/shop"), false))).toBe(false);
    expect(accepts({ issuer: "shop" }, facts(named("spiffe://own/client/other")))).toBe(false);
    expect(accepts({ issuer: "shop" }, facts(named("spiffe://own/client/x/shop")))).toBe(false);
    expect(accepts({ issuer: "shop" }, facts(read(own.issue({ cn: "shop" }).cert)))).toBe(true);
  });
});

describe("the configuration of issuers", () => {
  it("is refused if two CAs have an issuer's name, unless it says which one counts", () => {
    const both = [read(shop.pem), read(twin.pem)];
    expect(() => checkIssuers([{ issuer: "shop" }], both)).toThrow("two CAs are named");
    checkIssuers([{ issuer: "shop", cas: [read(shop.pem)] }, { issuer: "unknown" }], both);
    checkIssuers([{ issuer: "shop" }], [cross, renewed]);
  });

  it("is refused if it names an unknown CA", () => {
    expect(() => checkIssuers([{ issuer: "shop", cas: ["00".repeat(32)] }], cas)).toThrow("no trusted CA");
  });
});

describe("a caller without a URI name", () => {
  const trust = new Trust([...cas, renewed]);
  const named = (cn: string) => identitiesByCommonName(read(shop.issue({ cn }).cert), trust, Date.now());

  it("is identified by CA and CN, under each certificate of that CA", () => {
    const fingerprints = [cross, renewed].map(fingerprintOf);
    expect(fingerprints[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(named("app")).toEqual(fingerprints.map((ca) => `${ca}/app`));
  });

  it("has no identity if its CA is not trusted or its CN is empty", () => {
    expect(identitiesByCommonName(read(twin.issue({ cn: "app" }).cert), trust, Date.now())).toEqual([]);
    expect(named("")).toEqual([]);
  });

  it.each([
    ["app via spiffe://town/ns/a/controller", "app%20via%20spiffe%3A%2F%2Ftown%2Fns%2Fa%2Fcontroller"],
    ["a/b=operate\n", "a%2Fb%3Doperate%0A"],
    ["é", "%C3%A9"],
    ["x".repeat(300), `${"x".repeat(190)}~${hash("sha256", "x".repeat(300), "hex")}`],
  ])("cannot pose as another caller: %j", (cn, encoded) => {
    expect(named(cn)[0]?.split("/")).toEqual([fingerprintOf(cross), encoded]);
  });
});
