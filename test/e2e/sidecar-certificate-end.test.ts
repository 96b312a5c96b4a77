import { createClient } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../internal/gen/grpc/health/v1/health_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { MountedSecret } from "../support/bridge/secret.ts";
import { startSidecar, until } from "../support/sidecar/sidecar.ts";

const town = new TestCa("town");
const serverFor = (seconds: number) => town.issue({ ips: ["127.0.0.1"], days: seconds / 86_400 });
const caller = town.issue({ uris: ["spiffe://town.example/client/reader"] });

it("a sidecar is not ready once its certificate has expired, and ready again with a new one in its Secret", async () => {
  await using secret = await MountedSecret.create(serverFor(86_400));
  await using sidecar = await startSidecar({ flags: ["--tls-dir", secret.dir] });
  let last = "";
  const untilReadyz = (status: number) =>
    until(
      `/readyz ${status}`,
      40_000,
      async () => {
        const answer = await fetch(`${sidecar.healthUrl}/readyz`);
        last = `${answer.status} ${await answer.text()}`;
        return answer.status === status ? last : undefined;
      },
      () => `${last}\n${sidecar.log()}`,
    );
  const overTls = async () => {
    using connection = sidecarTransport({ baseUrl: `https://${sidecar.host}:${sidecar.port}`, tls: caller });
    return (await createClient(Health, connection.transport).check({}, { timeoutMs: 5000 })).status;
  };
  await untilReadyz(200);
  const pid = sidecar.servingPid();
  await secret.put(serverFor(10));
  expect(await untilReadyz(503)).toBe("503 not serving: the certificate has expired\n");
  await expect(overTls()).rejects.toThrow();
  await secret.put(serverFor(86_400));
  await untilReadyz(200);
  expect(await overTls()).toBe(Status.SERVING);
  expect(sidecar.servingPid()).toBe(pid);
});
