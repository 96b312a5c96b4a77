import { passingTracer } from "../base/tracing.ts";
import { collectorUrl } from "./collector-url.ts";
import type { OpenTracer, OtlpTracerDeps } from "./otlp-tracer.ts";

/**
 * Opens the tracer of a program. It sends spans if a collector is configured; otherwise it only passes trace contexts
 * on.
 * @param endpoint base URL of a collector, from the configuration; undefined: the environment decides
 * @throws DomainError `invalid` for a URL that is not http or https
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
