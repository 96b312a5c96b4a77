import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, createClient } from "@connectrpc/connect";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarDnsName } from "../../internal/pki/trust-domain.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import type { ControllerCluster, RunningReplica } from "../../test/support/cluster/controller-cluster.ts";
import { type RunningSidecar, type SidecarSetup, startSidecar } from "../../test/support/sidecar/sidecar.ts";
import { sessionPod } from "./session-pod.ts";

/**
 * A session whose pod has no node: its sidecar is a process of this machine, at its own address, with the pod's Secret.
 */
export interface LiveSession extends AsyncDisposable {
  readonly id: string;
  readonly sidecar: RunningSidecar;
  /** Calls the sidecar directly, without the controller. */
  readonly direct: Client<typeof SidecarService>;
}

const SIDECAR_PORT = 9090;

/** `index`: the number of this session among those of the machine, below 200. */
export async function liveSession(
  town: ControllerCluster,
  replica: RunningReplica,
  index: number,
  setup: (dir: string) => SidecarSetup = () => ({}),
): Promise<LiveSession> {
  const pod = await sessionPod(town, replica, index);
  const { id, ip } = pod;
  const { trustDomain } = town;
  const sidecar = await startSidecar((dir) => {
    const given = setup(dir);
    const roles = ["ns/*/controller", "client/shop"].flatMap((who) => [
      "--allow-client",
      `spiffe://${trustDomain}/${who}=operate`,
    ]);
    const flags = ["--tls-dir", join(dir, "tls"), "--session-id", id, ...roles, ...(given.flags ?? [])];
    return {
      ...given,
      listen: `${ip}:${SIDECAR_PORT}`,
      prepare: () => writeFiles(join(dir, "tls"), pod.secret),
      flags,
    };
  });
  await pod.reportRunning(sidecar.log);
  const serverName = sidecarDnsName(trustDomain, town.agents, id);
  const connection = sidecarTransport({ baseUrl: `https://${ip}:${SIDECAR_PORT}`, tls: town.callerTls, serverName });
  return {
    id,
    sidecar,
    direct: createClient(SidecarService, connection.transport),
    [Symbol.asyncDispose]: async () => {
      connection[Symbol.dispose]();
      await sidecar[Symbol.asyncDispose]();
    },
  };
}

async function writeFiles(dir: string, data: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(dir, { mode: 0o700 });
  for (const [name, base64] of Object.entries(data)) {
    await writeFile(join(dir, name), Buffer.from(base64, "base64"), { mode: 0o600 });
  }
}
