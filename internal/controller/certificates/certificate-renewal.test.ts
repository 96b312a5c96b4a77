import { X509Certificate } from "node:crypto";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeSecrets } from "../../../test/support/cluster/fake-secrets.ts";
import { advanceUntil } from "../../../test/support/cluster/session-replica.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { type CaMaterial, readCaSecret } from "./ca-secret.ts";
import { newSessionsCa } from "./ca-successor.ts";
import { CertificateRenewal } from "./certificate-renewal.ts";
import { setUp, type WishedSecret } from "./set-up.ts";

const DAY_MS = 86_400_000;
const never = new AbortController().signal;
const FILES: readonly WishedSecret[] = [
  { name: "client", content: { type: "client", client: "threads" } },
  { name: "relay", content: { type: "server", hosts: ["town-relay"] } },
  { name: "threads", content: { type: "server", hosts: ["town-threads"] } },
  { name: "tokens", content: { type: "token-key" } },
];

let clock: FakeClock;
let secrets: FakeSecrets;
let ca: CaMaterial | undefined;
let stop: AbortController;
let running: Promise<void>;
let renewal: CertificateRenewal;

const text = (name: string, key: string) => secrets.secrets.get(name)?.data[key] ?? "";
const issuer = (name: string) => new X509Certificate(text(name, "tls.crt"));
const writes = () => secrets.writes.slice(6);

beforeEach(async () => {
  [clock, secrets, stop] = [new FakeClock(Date.now()), new FakeSecrets(), new AbortController()];
  const places = { ca: { namespace: "ca", secret: "ca" }, namespace: "system", issuersSecret: "issuers" };
  await setUp({ secrets, clock }, { trustDomain: "town.example", ...places, files: FILES }, never);
  ca = readCaSecret(secrets.secrets.get("ca")?.data ?? {}, clock.now());
  const options = { trustDomain: "town.example", namespace: "system", secrets: FILES };
  renewal = new CertificateRenewal({ secrets, ca: () => ca, clock, logger: silentLogger }, options);
  running = renewal.run(stop.signal);
  await clock.advance(0);
});
afterEach(async () => {
  stop.abort(new Error("test ends"));
  await running;
  expect(clock.sleeping).toBe(0);
});

it("writes nothing while the set-up's certificates are current", async () => {
  await clock.advance(DAY_MS);
  expect(writes()).toEqual([]);
});

it("renews each certificate when a third of its lifetime is left, and keeps the keys of tokens", async () => {
  const [jwtKey, key] = [text("client", "jwt.key"), text("client", "tls.key")];
  clock.jump(59 * DAY_MS);
  await clock.advance(3_600_000);
  expect(writes()).toEqual([]);
  clock.jump(2 * DAY_MS);
  await clock.advance(3_600_000);
  await advanceUntil(clock, () => writes().length === 3);
  expect(writes()).toEqual(["patch client", "patch relay", "patch threads"]);
  expect([text("client", "jwt.key"), text("client", "tls.key") === key]).toEqual([jwtKey, false]);
  expect(issuer("relay").validToDate.getTime()).toBeGreaterThan(clock.now() + 89 * DAY_MS);
});

it("follows a new CA and its revocation lists at once", async () => {
  const { cert, key } = await newSessionsCa("town.example", clock.now());
  ca = { ...readCaSecret({ "ca.crt": cert, "ca.key": key }, clock.now()), crl: "a list" };
  renewal.look();
  await advanceUntil(clock, () => writes().length === 3);
  for (const { name } of FILES.slice(0, 3)) {
    expect(issuer(name).verify(new X509Certificate(cert).publicKey)).toBe(true);
    expect(text(name, "ca.crt")).toBe(cert);
  }
  expect([text("relay", "crl.pem"), text("client", "crl.pem")]).toEqual(["a list", ""]);
  const { crl: _, ...without } = ca;
  ca = without;
  renewal.look();
  await advanceUntil(clock, () => writes().length === 5);
  expect(secrets.secrets.get("relay")?.data).not.toHaveProperty("crl.pem");
});

it("continues with the others while one cannot be written, and retries that one", async () => {
  const patch = secrets.patch.bind(secrets);
  let isRefused = true;
  secrets.patch = async (...args) => {
    if (isRefused && args[1] === "relay") throw new Error("refused");
    await patch(...args);
  };
  secrets.change("relay", { data: {} });
  secrets.change("threads", { data: {} });
  renewal.look();
  await advanceUntil(clock, () => writes().length === 1, 20_000);
  expect(writes()).toEqual(["patch threads"]);
  isRefused = false;
  await clock.advance(30_000);
  await advanceUntil(clock, () => writes().length === 2);
  expect(issuer("relay").subjectAltName).toBe("DNS:town-relay");
});

it("does not recreate a deleted Secret, because the set-up does", async () => {
  await secrets.delete("system", "relay", secrets.secrets.get("relay") as never);
  const before = writes().length;
  await clock.advance(DAY_MS);
  expect([writes().length, secrets.secrets.has("relay")]).toEqual([before, false]);
});
