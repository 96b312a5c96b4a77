import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeSecrets } from "../../../test/support/cluster/fake-secrets.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import type { SecretOwner } from "./secret-store.ts";
import { setUp, type WishedSecret } from "./set-up.ts";

const WISH = {
  trustDomain: "town.example",
  ca: { namespace: "ca", secret: "town-ca" },
  namespace: "system",
  issuersSecret: "town-issuers",
};
const client = (name: string, owner?: SecretOwner): WishedSecret => ({
  name: `town-client-${name}`,
  content: { type: "client", client: name },
  owner,
});
const DAY_MS = 86_400_000;
const never = new AbortController().signal;

describe("the set-up of a cluster", () => {
  let secrets: FakeSecrets;
  let clock: FakeClock;
  const run = (...files: readonly WishedSecret[]) =>
    setUp({ secrets, clock }, { ...WISH, files: files.length > 0 ? files : [client("admin")] }, never);
  const steps = (ca: string, admin: string, issuers: string) => ({
    ...{ ca, issuers },
    files: { "town-client-admin": admin },
  });
  const data = (name: string) => secrets.secrets.get(name)?.data ?? {};

  beforeEach(() => {
    secrets = new FakeSecrets();
    clock = new FakeClock(Date.now());
  });

  it("creates a CA, a client that it certifies, and the public key of the client's tokens", async () => {
    expect(await run()).toEqual(steps("made", "made", "made"));
    const [ca, leaf] = [
      new X509Certificate(data("town-ca")["ca.crt"] ?? ""),
      new X509Certificate(data("town-client-admin")["tls.crt"] ?? ""),
    ];
    expect(leaf.verify(ca.publicKey)).toBe(true);
    expect(leaf.subjectAltName).toBe("URI:spiffe://town.example/client/admin");
    expect(leaf.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    const own = createPublicKey(createPrivateKey(data("town-client-admin")["jwt.key"] ?? ""));
    expect(createPublicKey(data("town-issuers")["admin.pub"] ?? "").equals(own)).toBe(true);
    expect(data("town-client-admin")["ca.crt"]).toBe(data("town-ca")["ca.crt"]);
  });

  it("writes nothing if everything exists", async () => {
    await run();
    expect(await run()).toEqual(steps("kept", "kept", "kept"));
    expect(secrets.writes).toHaveLength(3);
  });

  it.for([0, 1, 2])("is complete after a crash before write %d and another run", async (crashBefore) => {
    secrets.crashBefore = crashBefore;
    await expect(run()).rejects.toThrow("crashed");
    secrets.crashBefore = undefined;
    await run();
    expect(secrets.writes).toEqual(["create town-ca", "create town-client-admin", "create town-issuers"]);
  });

  it("keeps the CA that another run has just created", async () => {
    const other = new FakeSecrets();
    await setUp({ secrets: other, clock }, { ...WISH, files: [client("admin")] }, never);
    const made = other.secrets.get("town-ca");
    const get = secrets.get.bind(secrets);
    let looks = 0;
    secrets.get = async (namespace, name) => (name === "town-ca" && looks++ === 0 ? undefined : get(namespace, name));
    if (made !== undefined) secrets.secrets.set("town-ca", made);
    expect(await run()).toMatchObject({ ca: "kept", files: { "town-client-admin": "made" } });
    expect(data("town-ca")).toEqual(made?.data);
  });

  it("issues a client's certificate again if it ends within a month, and keeps the key of its tokens", async () => {
    await run();
    const before = data("town-client-admin");
    await clock.advance(61 * DAY_MS);
    expect(await run()).toEqual(steps("kept", "renewed", "kept"));
    expect(data("town-client-admin")["tls.key"]).not.toBe(before["tls.key"]);
    expect(data("town-client-admin")["jwt.key"]).toBe(before["jwt.key"]);
  });

  it("adds the key of another client, and keeps the first one's", async () => {
    await run();
    const report = await run(client("shop"));
    expect(report).toEqual({ ca: "kept", files: { "town-client-shop": "made" }, issuers: "renewed" });
    expect(Object.keys(data("town-issuers")).sort()).toEqual(["admin.pub", "shop.pub"]);
  });

  it("binds a client's files to the object that owns them, including existing files", async () => {
    const owner = (uid: string) => ({ kind: "ConfigMap", name: "town-client-admin", uid }) as const;
    const owners = () => secrets.secrets.get("town-client-admin")?.owners;
    await run(client("admin", owner("one")));
    expect(owners()).toEqual([owner("one")]);
    const before = data("town-client-admin");
    expect(await run(client("admin", owner("two")))).toMatchObject(steps("kept", "kept", "kept"));
    expect([owners(), data("town-client-admin")]).toEqual([[owner("two")], before]);
  });

  it("certifies a server's names, and again if there is another name or the certificate ends soon", async () => {
    const owner = { kind: "ConfigMap", name: "town-relay", uid: "one" } as const;
    const name = "town-relay-tls";
    const server = (...hosts: readonly string[]): WishedSecret => ({ name, content: { type: "server", hosts }, owner });
    const hosts = ["town-relay", "town-relay.system.svc", "127.0.0.1"];
    const step = async (...secrets: readonly WishedSecret[]) => (await run(...secrets)).files[name];
    expect(await step(server(...hosts))).toBe("made");
    const leaf = new X509Certificate(data(name)["tls.crt"] ?? "");
    expect(leaf.verify(new X509Certificate(data("town-ca")["ca.crt"] ?? "").publicKey)).toBe(true);
    expect(leaf.subjectAltName).toBe("DNS:town-relay, DNS:town-relay.system.svc, IP Address:127.0.0.1");
    expect(leaf.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
    expect(Object.keys(data(name)).sort()).toEqual(["ca.crt", "tls.crt", "tls.key"]);
    expect(secrets.secrets.get(name)?.owners).toEqual([owner]);
    expect(await step(server(...hosts))).toBe("kept");
    const more = server(...hosts, "relay.town.example");
    expect(await step(more)).toBe("renewed");
    await clock.advance(61 * DAY_MS);
    expect(await step(more)).toBe("renewed");
  });

  it("creates a token key with its public half, keeps it, and restores a missing public half", async () => {
    const name = "town-session-tokens";
    const tokens: WishedSecret = { name, content: { type: "token-key" } };
    expect((await run(tokens)).files[name]).toBe("made");
    const before = data(name);
    const own = createPublicKey(createPrivateKey(before["signing.key"] ?? ""));
    expect(createPublicKey(before["signing.pub"] ?? "").equals(own)).toBe(true);
    expect((await run(tokens)).files[name]).toBe("kept");
    secrets.change(name, { data: { "signing.key": before["signing.key"] ?? "" } });
    expect((await run(tokens)).files[name]).toBe("renewed");
    expect(data(name)).toEqual(before);
  });

  it("reports a token key that is not a private key, and leaves it", async () => {
    const name = "town-session-tokens";
    const tokens: WishedSecret = { name, content: { type: "token-key" } };
    await run(tokens);
    secrets.change(name, { data: { "signing.key": data(name)["signing.pub"] ?? "" } });
    const before = data(name);
    await expect(run(tokens)).rejects.toMatchObject({
      kind: "invalid",
      message: expect.stringMatching(/^signing\.key of the agents' tokens /),
    });
    expect(data(name)).toEqual(before);
  });

  it("never replaces an unusable CA, and reports its fault", async () => {
    await secrets.create("ca", { name: "town-ca", labels: {}, data: { "ca.crt": "none" } });
    await expect(run()).rejects.toThrow(
      expect.objectContaining({ kind: "precondition", message: expect.stringContaining("ca.crt") }),
    );
    expect(data("town-ca")).toEqual({ "ca.crt": "none" });
  });
});
