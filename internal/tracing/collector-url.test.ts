import { expect, it } from "vitest";
import { collectorUrl } from "./collector-url.ts";

it("is off by default, and if it was turned off", () => {
  expect(collectorUrl(undefined, {})).toBeUndefined();
  expect(collectorUrl(undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: "" })).toBeUndefined();
  expect(collectorUrl("http://c:4318", { OTEL_SDK_DISABLED: "true" })).toBeUndefined();
  expect(collectorUrl("http://c:4318", { OTEL_TRACES_EXPORTER: "none" })).toBeUndefined();
});

it("is taken from the configuration before the variables", () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: "https://base:4318/otlp/" };
  expect(collectorUrl("http://c:4318", env)).toBe("http://c:4318/v1/traces");
  expect(collectorUrl(undefined, env)).toBe("https://base:4318/otlp/v1/traces");
  expect(collectorUrl(undefined, { ...env, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://t/own" })).toBe("http://t/own");
});

it("must be a URL", () => {
  expect(() => collectorUrl(undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: "localhost:4318" })).toThrow(
    "is not an http or https",
  );
});
