import { generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fingerprintOf } from "../../internal/auth/issuing-cas.ts";
import { mintToken, type TokenRequest } from "../../internal/auth/mint-token.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { NudgeMode, SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import type { TlsMaterial } from "../../internal/rpc/common/tls.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { writeTls } from "../support/bridge/secret.ts";
import { type RunningSidecar, startSidecar } from "../support/sidecar/sidecar.ts";

const town = new TestCa("town");
const shop = new TestCa("shop");
const bank = new TestCa("bank");
/** A trusted CA without a revocation list. */
const listless = new TestCa("listless");
const crossSigned = { shop: town.crossSign(shop), bank: town.crossSign(bank), listless: town.crossSign(listless) };
const keys = { shop: generateKeyPairSync("ed25519"), bank: generateKeyPairSync("ed25519") };

/** Two certificates with the same names, as after a renewal. */
const cert = {
  shop: shop.issue({ uris: ["spiffe://shop/client/app"] }),
  bank: bank.issue({ uris: ["spiffe://bank/client/app"] }),
  revoked: shop.issue({ uris: ["spiffe://shop/client/app"] }),
  listless: listless.issue({ uris: ["spiffe://listless/client/app"] }),
  nameless: shop.issue({ cn: "night shift" }),
  renewed: shop.issue({ cn: "night shift" }),
  otherName: shop.issue({ cn: "day shift" }),
};
const NAMELESS = `${fingerprintOf(new X509Certificate(crossSigned.shop))}/night%20shift`;

const GOOD: TokenRequest = { issuer: "shop", subject: "ann", project: "p1", audience: "gt-sidecar", ttlMs: 60_000 };
const tokens: string[] = [];
function token(more: Partial<TokenRequest> = {}, { key = keys.shop.privateKey as KeyObject, at = Date.now() } = {}) {
  const text = mintToken(key, { ...GOOD, ...more }, at);
  tokens.push(text);
  return text;
}

/** The result of each call, by the id that it was sent with. */
const ended = new Map<string, string>();
type Call = (client: Client<typeof SidecarService>) => Promise<unknown>;

describe("a sidecar that takes roles from tokens", () => {
  let dir: string;
  let lenient: RunningSidecar;
  let strict: RunningSidecar;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "gt-tokens-"));
    const own = town.issue({ uris: ["spiffe://town/ns/agents/session/s1"], ips: ["127.0.0.1"] });
    const ca = [town.pem, ...Object.values(crossSigned)].join("");
    const crl = town.revoke([]) + shop.revoke([cert.revoked]) + bank.revoke([]);
    await writeTls(join(dir, "tls"), { ...own, ca, crl });
    for (const [name, { publicKey }] of Object.entries(keys)) {
      await writeFile(join(dir, `${name}.pub`), publicKey.export({ type: "spki", format: "pem" }));
    }
    const issuers = ["shop", "bank"].flatMap((name) => ["--jwt-key", `${name}=${join(dir, `${name}.pub`)}`]);
    const flags = ["--tls-dir", join(dir, "tls"), "--project", "p1", ...issuers];
    const rules = ["--allow-client", `${NAMELESS}=nudge`, "--allow-client", "spiffe://listless/client/app=read"];
    const audit = ["--audit-log", join(dir, "audit.log"), "--crl-policy", "require"];
    [lenient, strict] = await Promise.all([
      startSidecar({ flags: [...flags, ...rules] }),
      startSidecar({ flags: [...flags, ...rules, ...audit] }),
    ]);
  });
  afterAll(async () => {
    await Promise.all([lenient, strict].map((sidecar) => sidecar?.[Symbol.asyncDispose]()));
    await rm(dir, { recursive: true, force: true });
  });

  /** The result of a call: `ok`, or the kind and the text of its error. */
  async function ending(call: Call, tls: TlsMaterial, bearer?: string, sidecar = lenient): Promise<string> {
    const id = `call-${ended.size}`;
    ended.set(id, "under way");
    using connection = sidecarTransport({
      baseUrl: `https://127.0.0.1:${sidecar.port}`,
      tls: { ...tls, ca: town.pem },
      interceptors: [
        (next) => (req) => {
          req.header.set("x-request-id", id);
          if (bearer !== undefined) req.header.set("authorization", `Bearer ${bearer}`);
          return next(req);
        },
      ],
    });
    const outcome = await call(createClient(SidecarService, connection.transport)).then(
      () => "ok",
      (err) => {
        const failure = domainErrorOf(err);
        return failure instanceof DomainError ? `${failure.kind}: ${failure.message}` : String(err);
      },
    );
    ended.set(id, outcome);
    return outcome;
  }

  const peek: Call = (client) => client.peek({});
  const nudge: Call = (client) => client.nudge({ message: "hello", mode: NudgeMode.QUEUE });
  const sendKeys: Call = (client) => client.sendKeys({ keys: ["Up"] });
  const attach: Call = async (client) => {
    async function* hello() {
      yield { input: { case: "hello" as const, value: { cols: 80, rows: 24 } } };
    }
    for await (const _ of client.attach(hello())) return;
  };

  describe.concurrent("gives a caller the role of its token:", () => {
    it.each([
      ["read", { peek: "ok", nudge: "needs the role nudge", sendKeys: "needs the role operate", attach: "look" }],
      ["nudge", { peek: "ok", nudge: "ok", sendKeys: "needs the role operate", attach: "look" }],
      ["operate", { peek: "ok", nudge: "ok", sendKeys: "ok", attach: "ok" }],
    ] as const)("scope %s", async (scope, wanted) => {
      const bearer = token({ scope, subject: `with-${scope}` });
      for (const [name, call] of Object.entries({ peek, nudge, sendKeys, attach })) {
        const words = wanted[name as keyof typeof wanted];
        expect(await ending(call, cert.shop, bearer)).toContain(
          words === "ok" ? words : words === "look" ? "this caller is read-only" : "may not call",
        );
      }
    });

    it("no role without a token", async () => {
      expect(await ending(peek, cert.shop)).toMatch(/^denied: .*needs the role read/);
    });

    it.each<[string, () => string, string]>([
      [
        "over the certificate of another issuer's CA",
        () => token({ issuer: "bank" }, { key: keys.bank.privateKey }),
        "unauthenticated: the token is not valid with this certificate",
      ],
      [
        "signed by another issuer's key",
        () => token({}, { key: keys.bank.privateKey }),
        "unauthenticated: the token's signature",
      ],
      ["that has expired", () => token({}, { at: Date.now() - 61_000 }), "unauthenticated: the token has expired"],
      ["for the bridge", () => token({ audience: "bridge" }), "unauthenticated: the token is for another audience"],
      ["of an unknown issuer", () => token({ issuer: "thief" }), "unauthenticated: the token's issuer is not known"],
      ["for another project", () => token({ project: "p2" }), "denied: the token is for another project"],
      [
        "bound to another certificate",
        () => token({ certificate: new X509Certificate(cert.bank.cert) }),
        "unauthenticated: the token is bound",
      ],
      [
        "that is not a token",
        () => "eyJub3QiOiJvbmUifQ.eyJub3QiOiJvbmUifQ.eyJub3QiOiJvbmUifQ",
        "unauthenticated: the token is not signed with EdDSA",
      ],
    ])("refuses a token %s", async (_, bearer, words) => {
      expect(await ending(peek, cert.shop, bearer())).toContain(words);
    });

    it("ends a stream when its token expires", async () => {
      const watch: Call = async (client) => {
        for await (const _ of client.watchOutput({}));
      };
      const bearer = token({ subject: "watcher", ttlMs: 2000 });
      expect(await ending(watch, cert.shop, bearer)).toContain("unauthenticated: the token has expired, and no newer");
    });

    it("identifies a certificate without a URI name by its CA and CN, even after a renewal", async () => {
      const requestId = "of-the-night-shift";
      const own: Call = (client) => client.nudge({ message: "later", requestId, mode: NudgeMode.QUEUE });
      const look: Call = (client) => client.getNudge({ requestId });
      expect(await ending(own, cert.nameless)).toBe("ok");
      expect(await ending(look, cert.renewed)).toBe("ok");
      expect(await ending(look, cert.otherName)).toMatch(/^denied/);
      expect(await ending(look, cert.shop, token({ scope: "nudge" }))).toMatch(/^not-found/);
    });

    it("refuses a revoked certificate, whatever its token says and whatever the policy is", async () => {
      for (const sidecar of [lenient, strict]) {
        expect(await ending(peek, cert.revoked, token(), sidecar)).toMatch(/^unauthenticated: .*is revoked/);
      }
    });

    it("requires a revocation list only if the policy does", async () => {
      expect(await ending(peek, cert.listless)).toBe("ok");
      expect(await ending(peek, cert.listless, undefined, strict)).toMatch(
        /^unauthenticated: .*no current revocation list/,
      );
      expect(await ending(peek, cert.shop, token({ scope: "read" }), strict)).toBe("ok");
    });
  });

  it("audits each decision once, and writes no part of a token anywhere", async () => {
    const file = await readFile(join(dir, "audit.log"), "utf8");
    const lines = `${lenient.log()}${file}`.split("\n").filter((line) => line.includes('"audit":true'));
    const audited = lines.map((line) => JSON.parse(line) as Record<string, string>);
    expect(ended.size).toBeGreaterThan(20);
    for (const [id, outcome] of ended) {
      const own = audited.filter((line) => line["correlation_id"] === id);
      const decisions = own.map((line) => `${line["event"]} ${line["outcome"]}`);
      const [, kind = "", why = ""] = /^([a-z-]+): (.*)$/s.exec(outcome) ?? [];
      const last = own.at(-1) ?? {};
      if (outcome === "ok" || kind === "not-found")
        expect([id, new Set(decisions.map((word) => word.split(" ")[1]))]).toEqual([id, new Set(["allowed"])]);
      else expect([id, last["reason"], last["code"]]).toEqual([id, why, kind]);
      expect(decisions.filter((word) => word.startsWith("call ") && !word.endsWith(" ended"))).toHaveLength(1);
      for (const line of own) {
        expect(line).toMatchObject({
          time: expect.any(String),
          call: expect.stringContaining("SidecarService/"),
          address: expect.any(String),
          identity: expect.any(String),
        });
      }
    }
    expect(audited).toContainEqual(
      expect.objectContaining({ outcome: "ended", subject: "watcher", issuer: "shop", scope: "operate" }),
    );
    expect(audited).toContainEqual(
      expect.objectContaining({ event: "policy", outcome: "refused", subject: "with-read", scope: "read" }),
    );
    expect(audited).toContainEqual(
      expect.objectContaining({ event: "connection", outcome: "refused", identity: "spiffe://listless/client/app" }),
    );
    expect(audited).toContainEqual(expect.objectContaining({ identity: NAMELESS, outcome: "allowed" }));
    expect(strict.log()).not.toContain('"audit":true');
    const logs = lenient.log() + strict.log() + file;
    for (const part of tokens.flatMap((text) => text.split("."))) expect(logs).not.toContain(part);
    expect(logs).not.toMatch(/Bearer|eyJ/);
  });
});
