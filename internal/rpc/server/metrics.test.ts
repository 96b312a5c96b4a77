import { createClient, createRouterTransport } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { DomainError } from "../../base/errors.ts";
import { createLogger } from "../../base/logger.ts";
import { SidecarService } from "../../gen/gastown/v1/sidecar_pb.ts";
import { errorInterceptor } from "./error-interceptor.ts";
import { Metrics } from "./metrics.ts";

const METHOD = "gastown.v1.SidecarService";

function serve() {
  const metrics = new Metrics();
  const interceptors = [metrics.interceptor(), errorInterceptor(createLogger("test", "silent"))];
  const transport = createRouterTransport(
    (router) =>
      router.service(SidecarService, {
        peek({ lines }) {
          if (lines < 0) throw new DomainError("invalid", "no");
          return {};
        },
        async *watchOutput({ lines }) {
          yield {};
          if (lines < 0) throw new DomainError("precondition", "no");
          yield {};
        },
      }),
    { router: { interceptors } },
  );
  const read = async (name: string, labels: Record<string, string>) => {
    const values = (await metrics.registry.getSingleMetric(name)?.get())?.values ?? [];
    return values.find((value) => Object.entries(labels).every(([key, wanted]) => value.labels[key] === wanted))?.value;
  };
  return { client: createClient(SidecarService, transport), read };
}

it("counts unary calls by code as the wire writes it, and times them", async () => {
  const { client, read } = serve();
  await client.peek({});
  await client.peek({ lines: -1 }).catch(() => {});
  const count = (code: string) =>
    read("gastown_rpc_requests_total", { method: `${METHOD}/Peek`, code, protocol: "connect" });
  expect([await count("ok"), await count("invalid_argument")]).toEqual([1, 1]);
  expect(await read("gastown_rpc_duration_seconds", { method: `${METHOD}/Peek`, le: "+Inf" })).toBe(2);
});

it("counts a stream while it is open, and once when it ends", async () => {
  const { client, read } = serve();
  const method = `${METHOD}/WatchOutput`;
  const stream = client.watchOutput({})[Symbol.asyncIterator]();
  await stream.next();
  expect(await read("gastown_rpc_active_streams", { method })).toBe(1);
  while (!(await stream.next()).done);
  expect(await read("gastown_rpc_active_streams", { method })).toBe(0);
  expect(await read("gastown_rpc_requests_total", { method, code: "ok" })).toBe(1);
});

it("counts a failed stream by its code", async () => {
  const { client, read } = serve();
  const fail = async () => {
    for await (const _ of client.watchOutput({ lines: -1 }));
  };
  await fail().catch(() => {});
  expect(
    await read("gastown_rpc_requests_total", { method: `${METHOD}/WatchOutput`, code: "failed_precondition" }),
  ).toBe(1);
});

it("includes the numbers of other rooms and of the process, each process its own", async () => {
  const metrics = new Metrics();
  metrics.collectProcess();
  expect(await metrics.registry.metrics()).toContain("process_cpu_user_seconds_total");
  expect(await new Metrics().registry.metrics()).not.toContain("process_cpu");
});
