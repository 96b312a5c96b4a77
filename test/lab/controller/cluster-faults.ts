import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestCluster } from "../../support/cluster/cluster.ts";
import type { SoakSession } from "./soak-session.ts";
import type { SoakTown } from "./soak-town.ts";

interface Bed {
  readonly town: SoakTown;
  readonly control: NonNullable<TestCluster["control"]>;
  /** The sessions that are running now. */
  readonly running: () => readonly SoakSession[];
}

/** Longer than a lease. */
const SUSPENDED_MS = 25_000;
const GARBAGE = Buffer.from("garbage").toString("base64");

/** The faults by name. Each repairs the damage that a person would have to repair. */
export const CLUSTER_FAULTS = {
  "replica ended": ({ town }) => town.replace("SIGTERM"),
  "replica killed": ({ town }) => town.replace("SIGKILL"),
  "leader suspended": ({ town }) => town.suspendLeader(SUSPENDED_MS),
  "API server killed": (bed) => away(bed, "apiserver", "crash", "start"),
  "API server silent": (bed) => away(bed, "apiserver", "pause", "resume"),
  "etcd silent": (bed) => away(bed, "etcd", "pause", "resume"),
  "kubelet killed": (bed) => away(bed, "node", "crash", "start"),
  "pod deleted": async ({ town, running }) => {
    const session = town.pick(running());
    if (session === undefined) return;
    session.isDeleted = true;
    await kubectl(town, ["delete", "pod", ...of(session), "--wait=false"]);
  },
  "certificate deleted": async ({ town, running }) => {
    const name = await secretOf(town, running());
    if (name !== "") await kubectl(town, ["delete", name]);
  },
  "certificate damaged": async ({ town, running }) => {
    const name = await secretOf(town, running());
    const patch = JSON.stringify({ data: { "tls.crt": GARBAGE } });
    if (name !== "") await kubectl(town, ["patch", name, "--type=merge", "-p", patch]);
  },
  "agent killed": async ({ town }) => {
    const pid = town.pick(pidsOf((line) => line.includes("/demo-agent.mjs\0")));
    if (pid !== undefined) process.kill(pid, "SIGKILL");
  },
  "serving half killed": async ({ town }) => {
    const pid = town.pick(pidsOf((line) => line.includes("gt-sidecar.mjs\0--standby")));
    if (pid !== undefined) process.kill(pid, "SIGKILL");
  },
} as const satisfies Record<string, (bed: Bed) => Promise<void>>;

export type ClusterFault = keyof typeof CLUSTER_FAULTS;

async function away({ town, control }: Bed, part: string, end: string, begin: string): Promise<void> {
  await control(end, part);
  await sleep(1_000 + 9_000 * town.random());
  await control(begin, part);
}

function of({ id }: SoakSession): readonly string[] {
  return ["-l", `gastown.io/session=${id}`];
}

/** The Secret of a running session; empty: there is none. */
async function secretOf(town: SoakTown, running: readonly SoakSession[]): Promise<string> {
  const session = town.pick(running);
  if (session === undefined) return "";
  const pod = (await kubectl(town, ["get", "pod", ...of(session), "-o", "name"])).trim().replace("pod/", "");
  return pod === "" ? "" : `secret/${pod}-tls`;
}

function kubectl({ town }: SoakTown, args: readonly string[]): Promise<string> {
  return town.cluster.kubectl(["-n", town.agents, ...args]);
}

/** The pids of programs in the cluster's pods, which are processes of this machine too, by their command lines. */
function pidsOf(fits: (line: string) => boolean): readonly number[] {
  const group = `gt-cluster-${process.env["GT_CLUSTER"]}/kubepods`;
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [line = "", groups = ""] = ["cmdline", "cgroup"].map((file) =>
        readFileSync(`/proc/${name}/${file}`, "utf8"),
      );
      return groups.includes(group) && fits(line) ? [Number(name)] : [];
    } catch {
      return []; // it has ended
    }
  });
}
