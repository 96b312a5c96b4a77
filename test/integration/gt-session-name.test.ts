import { expect, it } from "vitest";
import { sidecarDnsName } from "../../internal/pki/trust-domain.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import { MountedSecret } from "../support/bridge/secret.ts";
import { startSidecar } from "../support/sidecar/sidecar.ts";

const ca = new TestCa("town");
const CALLER = "spiffe://town.example/client/ann";

it("an agent named by its session's id is reached at any address, and other names are refused there", async () => {
  const names = {
    uris: ["spiffe://town.example/ns/agents/session/s1"],
    dns: [sidecarDnsName("town.example", "agents", "s1")],
    usages: ["server"],
  } as const;
  await using serving = await MountedSecret.create(ca.issue(names));
  await using calling = await MountedSecret.create(ca.issue({ uris: [CALLER] }));
  const flags = ["--tls-dir", serving.dir, "--session-id", "s1", "--allow-client", `${CALLER}=operate`];
  await using sidecar = await startSidecar({ flags });
  const env = { PATH: process.env["PATH"] ?? "", HOME: sidecar.dir, XDG_RUNTIME_DIR: sidecar.dir };
  const place = ["--host", sidecar.host, "--port", String(sidecar.port), "--tls-dir", calling.dir];
  expect(await gt(["peek", "s1", ...place], env)).toMatchObject({ code: 0, stderr: "" });
  expect(await gt(["nudge", "s1", "hello", ...place], env)).toMatchObject({ code: 0, stderr: "" });
  for (const other of ["s2", "test/polecats/demo"]) {
    const refused = await gt(["peek", other, ...place], env);
    expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining("name the agent by the session's id") });
  }
});
