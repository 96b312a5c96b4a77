import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningSidecar, startSidecar, until } from "../sidecar/sidecar.ts";
import type { TestCluster } from "./cluster.ts";

/** The port of a pod's sidecar. */
const SIDECAR_PORT = 9090;
const WAIT_MS = 60_000;

/** A session's pod whose sidecar runs as processes of this machine. */
export interface ProcessPod extends AsyncDisposable {
  /** A loopback address of this pod only. */
  readonly ip: string;
  readonly sidecar: RunningSidecar;
}

interface PodJson {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly schedulingGates?: readonly object[];
    readonly containers: readonly [{ readonly env: readonly { readonly name: string; readonly value?: string }[] }];
    readonly volumes: readonly { readonly name: string; readonly secret?: { readonly secretName: string } }[];
  };
}

/**
 * Acts as the kubelet for a session in a cluster without nodes: waits until the pod may start, runs its sidecar with
 * the pod's settings and Secret, and reports it as running. `listen`: the sidecar's port; if that is not 9090, the test
 * must relay port 9090 to it.
 */
export async function processPod(
  cluster: Pick<TestCluster, "kubectl">,
  { namespace, session }: { readonly namespace: string; readonly session: string },
  listen = SIDECAR_PORT,
): Promise<ProcessPod> {
  const get = async <T>(...what: string[]) =>
    JSON.parse(await cluster.kubectl(["-n", namespace, "get", ...what, "-o", "json"])) as T;
  const startable = async () => {
    const { items } = await get<{ items: PodJson[] }>("pods", "-l", `gastown.io/session=${session}`);
    return items.find(({ spec }) => (spec.schedulingGates ?? []).length === 0);
  };
  const pod = await until(`the pod of ${session}`, WAIT_MS, startable);
  const secret = pod.spec.volumes.find(({ name }) => name === "tls")?.secret?.secretName ?? "";
  const { data } = await get<{ data: Readonly<Record<string, string>> }>("secret", secret);
  const tlsDir = await mkdtemp(join(tmpdir(), "gt-pod-"));
  for (const [name, base64] of Object.entries(data))
    await writeFile(join(tlsDir, name), Buffer.from(base64, "base64"), { mode: 0o600 });
  const ip = `127.${[0, 0, 0].map(() => 2 + Math.floor(Math.random() * 250)).join(".")}`;
  const given = Object.fromEntries(pod.spec.containers[0].env.map(({ name, value = "" }) => [name, value]));
  const { GT_AGENT_ADDRESS: address = "", GT_ALLOW_CLIENTS = "", GT_PROJECT = "", GT_SESSION_ID = "" } = given;
  const env = { GT_TLS_DIR: tlsDir, GT_ALLOW_CLIENTS, GT_PROJECT, GT_SESSION_ID };
  const sidecar = await startSidecar({ address, listen: `${ip}:${listen}`, env });
  const status = JSON.stringify({ status: runningAt(ip) });
  await cluster.kubectl(["-n", namespace, "patch", "pod", pod.metadata.name, "--subresource=status", "-p", status]);
  return {
    ip,
    sidecar,
    [Symbol.asyncDispose]: async () => {
      await sidecar[Symbol.asyncDispose]();
      await rm(tlsDir, { recursive: true, force: true });
    },
  };
}

function runningAt(ip: string): object {
  const container = { name: "agent", image: "agent:1", imageID: "", ready: true, started: true, restartCount: 0 };
  return {
    phase: "Running",
    podIP: ip,
    podIPs: [{ ip }],
    conditions: [{ type: "Ready", status: "True" }],
    containerStatuses: [{ ...container, state: { running: { startedAt: new Date().toISOString() } } }],
  };
}
