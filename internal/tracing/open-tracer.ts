import { passingTracer } from "../base/tracing.ts";
import { collectorUrl } from "./collector-url.ts";
import type { OpenTracer, OtlpTracerDeps } from "./otlp-tracer.ts";

/**
 * The tracer of a program: one that sends spans where an exporter is configured, else one that only passes on.
 * @param endpoint of a collector, from the configuration; undefined: the environment says, or nobody
 * @throws DomainError `invalid` for an environment variable that is no URL
 */
export async function openTracer(
  deps: OtlpTracerDeps,
  program: { readonly name: string; readonly version: string },
  {
    endpoint,
    env,
  }: { readonly endpoint: string | undefined; readonly env: Readonly<Record<string, string | undefined>> },
): Promise<OpenTracer> {
  const url = collectorUrl(endpoint, env);
  if (url === undefined) return { ...passingTracer, [Symbol.asyncDispose]: async () => {} };
  const { openOtlpTracer } = await import("./otlp-tracer.ts");
  const resource = { "service.name": env["OTEL_SERVICE_NAME"] || program.name, "service.version": program.version };
  const tracer = await openOtlpTracer(deps, { url, resource });
  deps.logger.info({ to: new URL(url).origin }, "sending spans");
  return tracer;
}
