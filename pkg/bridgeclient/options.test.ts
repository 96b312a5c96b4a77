import { expect, it } from "vitest";
import { type ClientOptions, settingsOf } from "./options.ts";

const OPTIONS: ClientOptions = {
  target: "bridge.example.com:9445",
  mtls: { caCertPath: "ca.crt", certPath: "tls.crt", keyPath: "tls.key" },
  jwt: { privateKeyPath: "jwt.key", issuer: "prd-manager", projectId: "p1" },
};

it.each([
  ["bridge.example.com:9445", "https://bridge.example.com:9445"],
  ["bridge.example.com", "https://bridge.example.com:9445"],
  ["127.0.0.1:443", "https://127.0.0.1:443"],
  ["[::1]:9445", "https://[::1]:9445"],
  ["https://bridge.example.com:8443", "https://bridge.example.com:8443"],
])("reads the target %s", (target, baseUrl) => {
  expect(settingsOf({ ...OPTIONS, target }).baseUrl).toBe(baseUrl);
});

it.each(["", ":9445", "http://bridge:9445", "bridge:9445/path", "user@bridge:9445", "bridge:99999", "unix:/x"])(
  "refuses the target %j",
  (target) => {
    expect(() => settingsOf({ ...OPTIONS, target })).toThrow("target is host:port");
  },
);

it("has a default for every optional setting, even if it is undefined", () => {
  const jwt = { ...OPTIONS.jwt, audience: undefined } as unknown as ClientOptions["jwt"];
  expect(settingsOf({ ...OPTIONS, jwt })).toMatchObject({
    jwt: { audience: "bridge", subject: "prd-manager", scope: "operate", ttlMs: 300_000 },
    timeouts: { defaultMs: 15_000 },
    maxAttempts: 5,
    keepalive: { pingIntervalMs: 5000, pingTimeoutMs: 5000 },
  });
});

it.each<[string, Partial<ClientOptions>]>([
  ["timeouts.defaultMs", { timeouts: { defaultMs: Number.POSITIVE_INFINITY } }],
  ["timeouts.startSessionMs", { timeouts: { startSessionMs: Number.NaN } }],
  ["timeouts.nudgeMarginMs", { timeouts: { nudgeMarginMs: -1 } }],
  ["retry.maxAttempts", { retry: { maxAttempts: Number.NaN } }],
  ["retry.maxAttempts", { retry: { maxAttempts: 1.5 } }],
  ["retry.firstMs", { retry: { firstMs: Number.NaN } }],
  ["retry.firstMs", { retry: { firstMs: 0 } }],
  ["retry.maxMs", { retry: { firstMs: 100, maxMs: 50 } }],
  ["keepalive.pingIntervalMs", { keepalive: { pingIntervalMs: 0 } }],
  ["keepalive.pingTimeoutMs", { keepalive: { pingTimeoutMs: Number.NaN } }],
  ["jwt.ttlMs", { jwt: { ...OPTIONS.jwt, ttlMs: Number.NaN } }],
])("refuses %s by its name: %j", (name, options) => {
  expect(() => settingsOf({ ...OPTIONS, ...options })).toThrow(name);
});
