import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { TestCa } from "../../../test/support/bridge/certificates.ts";
import { checkTls } from "../../pki/tls-files.ts";
import { TlsMetrics } from "./tls-metrics.ts";

it("counts loaded and refused sets, and reports when the certificate in use expires", async () => {
  const registry = new Registry();
  const metrics = new TlsMetrics(registry);
  const ca = new TestCa("town");
  const tls = checkTls({ ...ca.issue({ ips: ["127.0.0.1"] }), crl: ca.revoke([]) }, "server", Date.now());
  let current: typeof tls | undefined;
  metrics.observe(() => current);
  expect(await registry.metrics()).toContain("gastown_tls_certificate_expiry_timestamp_seconds 0");
  current = tls;
  metrics.loaded();
  metrics.refused("mismatch");
  const text = await registry.metrics();
  expect(text).toContain("gastown_tls_reloads_total 1");
  expect(text).toContain('gastown_tls_reload_failures_total{reason="mismatch"} 1');
  expect(text).toContain(`gastown_tls_certificate_expiry_timestamp_seconds ${tls.notAfter / 1000}`);
  expect(text).toContain(`gastown_tls_crl_next_update_timestamp_seconds ${(tls.listsDue ?? 0) / 1000}`);
});
