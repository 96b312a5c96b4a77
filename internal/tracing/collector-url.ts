import { DomainError } from "../base/errors.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The URL to which spans are sent: from the configured base URL, or else from OpenTelemetry's variables. Undefined:
 * tracing is off.
 * @throws DomainError `invalid` for a text that is not an http or https URL
 */
export function collectorUrl(configured: string | undefined, env: Env): string | undefined {
  const isOff = env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true" || env["OTEL_TRACES_EXPORTER"] === "none";
  if (isOff) return undefined;
  if (configured !== undefined) return tracesUrl(configured, "the configuration");
  const own = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
  if (own) return checked(own, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  const base = env["OTEL_EXPORTER_OTLP_ENDPOINT"];
  return base ? tracesUrl(base, "OTEL_EXPORTER_OTLP_ENDPOINT") : undefined;
}

/** Whether a text is an http or https URL. */
function isCollectorUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function tracesUrl(base: string, source: string): string {
  return `${checked(base, source).replace(/\/+$/, "")}/v1/traces`;
}

function checked(text: string, source: string): string {
  if (isCollectorUrl(text)) return text;
  throw new DomainError("invalid", `${source} is not an http or https URL for spans: ${JSON.stringify(text)}`);
}
