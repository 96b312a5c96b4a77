import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { readServe } from "./config.ts";
import { openSettings } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "gt-relay-"));
afterAll(() => rmSync(folder, { recursive: true }));

function opened(yaml: string) {
  const config = join(folder, "relay.yaml");
  writeFileSync(config, yaml);
  const { settings, findings } = openSettings(readServe("relay serve", { values: { config }, positionals: [] }, {}));
  findings.assertUsable();
  return settings;
}

it("takes the collector of spans from the file, as a bridge does", () => {
  const url = "http://127.0.0.1:4318";
  expect(opened(`tracing: { otlp_endpoint: "${url}" }`)).toMatchObject({ otlpEndpoint: url });
  expect(opened("").otlpEndpoint).toBeUndefined();
  expect(() => opened("tracing: { otlp_endpoint: 127.0.0.1:4318 }")).toThrow("one fault");
});

it("takes the log's level, form and secrets from the file, as a bridge does", () => {
  const file = 'logging: { level: warn, format: text, redact_patterns: ["shop-[0-9]+"] }';
  expect(opened(file)).toMatchObject({
    logLevel: "warn",
    logging: { format: "text", redact_patterns: ["shop-[0-9]+"] },
  });
  expect(opened("")).toMatchObject({ logLevel: "info", logging: { format: "json", redact_patterns: [] } });
  expect(() => opened('logging: { redact_patterns: ["("] }')).toThrow();
});
