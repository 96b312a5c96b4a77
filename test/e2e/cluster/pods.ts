import { readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { TestCa } from "../../support/bridge/certificates.ts";
import { gt } from "../../support/bridge/gt-transcript.ts";
import { followLog, manifest, type TestCluster, untilInCluster } from "../../support/cluster/cluster.ts";
import { requireCluster, shared } from "../../support/cluster/shared-cluster.ts";

const LIMIT_MS = 600_000;
const NAMESPACE = "agents";
const POD = "agent-example";
/** `npm run e2e` runs all of it. */
const isFull = process.env["GT_E2E"] === "full";

describe("a pod on a real cluster, in a namespace that enforces Pod Security restricted", () => {
  let cluster: TestCluster | undefined;
  let image = "";
  let dir = "";

  beforeAll(async () => {
    const given = shared();
    if (given === undefined) return;
    ({ cluster, image } = given);
    dir = await mkdtemp(join(tmpdir(), "gt-e2e-"));
    await cluster.kubectl(["create", "namespace", NAMESPACE]);
    const enforce = "pod-security.kubernetes.io/enforce=restricted";
    await cluster.kubectl([
      "label",
      "namespace",
      NAMESPACE,
      enforce,
      "pod-security.kubernetes.io/enforce-version=v1.35",
    ]);
  }, LIMIT_MS);

  afterAll(async () => {
    await cluster?.kubectl(["delete", "namespace", NAMESPACE, "--wait=false"]);
    if (dir !== "") await rm(dir, { recursive: true, force: true });
  }, LIMIT_MS);

  /** The cluster, or a skipped test with a line about the missing program. */
  async function here(context: TestContext): Promise<TestCluster> {
    return await requireCluster(context, cluster);
  }

  const env = (): Record<string, string> => ({
    PATH: process.env["PATH"] ?? "",
    HOME: dir,
    XDG_RUNTIME_DIR: dir,
    LANG: "C.UTF-8",
  });
  const at = (port: number) => ["--host", "127.0.0.1", "--port", String(port)];
  const kubectl = (...args: string[]) => (cluster as TestCluster).kubectl(["-n", NAMESPACE, ...args]);
  const apply = (text: string) => (cluster as TestCluster).kubectl(["-n", NAMESPACE, "apply", "-f", "-"], text);
  const facts = async (path: string) => await kubectl("get", "pod", POD, "-o", `jsonpath={${path}}`);
  const isReady = async () => (await facts('.status.conditions[?(@.type=="Ready")].status').catch(() => "")) === "True";
  const untilReady = () => untilInCluster("a ready pod", 120_000, async () => (await isReady()) || undefined);

  /** Applies a pod and the policy, and deletes the pod at the end. */
  async function pod(name: string, change: (text: string) => string = (text) => text): Promise<AsyncDisposable> {
    await apply(await manifest("network-policy.yaml", image));
    await apply(change(await manifest(name, image)));
    const before = performance.now();
    await untilReady();
    if (isFull)
      process.stderr.write(`${name}: ready ${Math.round(performance.now() - before)} ms after it was applied\n`);
    return {
      [Symbol.asyncDispose]: async () => {
        await kubectl("delete", "pod", POD, "--ignore-not-found", "--force", "--grace-period=0").catch(() => {});
        await untilInCluster(
          "no pod",
          60_000,
          async () => (await facts(".metadata.name").catch(() => "")) === "" || undefined,
        );
      },
    };
  }

  it(
    "is ready, is reached by gt from outside, and ends its agent gracefully when it is deleted",
    async (context) => {
      const found = await here(context);
      await using _pod = await pod("sidecar-pod.yaml");
      await using forward = await found.forward(POD, 9090, "-n", NAMESPACE);
      const sent = await gt(["nudge", "example", "hello from outside", ...at(forward.port)], env());
      expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining("submitted") });
      const seen = await gt(["peek", "example", ...at(forward.port)], env());
      expect(seen).toMatchObject({ code: 0, stdout: expect.stringContaining("hello from outside") });

      // The agent is busy when it is deleted.
      const busy = await gt(["nudge", "example", "/long", ...at(forward.port)], env());
      expect(busy.code).toBe(0);
      const log = await followLog(found, POD, "-n", NAMESPACE);
      const before = performance.now();
      await kubectl("delete", "pod", POD, "--wait=true");
      const deletedMs = performance.now() - before;
      if (isFull) process.stderr.write(`deleted ${Math.round(deletedMs)} ms after it was asked for, its agent busy\n`);
      expect(deletedMs).toBeLessThan(30_000);
      expect(await log.whole).toMatch(/"msg":"agent stopped".*"exit_code":\d+,"msg":"ended"/s);
    },
    LIMIT_MS,
  );

  it.for(isFull ? ["sidecar-pod-mtls.yaml", "sidecar-pod-two-containers.yaml"] : ["sidecar-pod-mtls.yaml"])(
    "%s is reached only with a certificate of its trust domain",
    { timeout: LIMIT_MS },
    async (name, context) => {
      const found = await here(context);
      const town = new TestCa("town");
      const write = async (name: string, issued: { readonly cert: string; readonly key: string }) => {
        await mkdir(join(dir, name), { recursive: true });
        const files = { "tls.crt": issued.cert, "tls.key": issued.key, "ca.crt": town.pem };
        for (const [file, text] of Object.entries(files)) await writeFile(join(dir, name, file), text, { mode: 0o600 });
        return join(dir, name);
      };
      const of = (path: string) => `spiffe://town.example/${path}`;
      const own = await write("own", town.issue({ uris: [of(`ns/${NAMESPACE}/session/${POD}`)], ips: ["127.0.0.1"] }));
      const controller = await write("controller", town.issue({ uris: [of("ns/control/controller")] }));
      const nobody = await write("nobody", town.issue({ uris: [of("client/nobody")] }));
      const files = ["tls.crt", "tls.key", "ca.crt"].map((file) => `--from-file=${join(own, file)}`);
      await kubectl("delete", "secret", `${POD}-tls`, "--ignore-not-found");
      await kubectl("create", "secret", "generic", `${POD}-tls`, ...files);
      await using _pod = await pod(name);
      await using forward = await found.forward(POD, 9090, "-n", NAMESPACE);
      const ask = (folder: string) =>
        gt(["nudge", "example", "hello", ...at(forward.port), "--tls-dir", folder], env());
      expect(await ask(controller)).toMatchObject({ code: 0, stdout: expect.stringContaining("submitted") });
      expect(await ask(nobody)).toMatchObject({ code: 4 });
      expect(await gt(["peek", "example", ...at(forward.port)], env())).toMatchObject({ code: 4 });
    },
  );

  if (!isFull) return;

  it(
    "restarts when its first process is killed, and keeps its earlier receipts",
    async (context) => {
      const found = await here(context);
      await using _pod = await pod("sidecar-pod.yaml");
      await using forward = await found.forward(POD, 9090, "-n", NAMESPACE);
      expect((await gt(["nudge", "example", "before", "--request-id", "one", ...at(forward.port)], env())).code).toBe(
        0,
      );
      const first = firstProcess(await facts(".metadata.uid"));
      if (first === undefined) return context.skip("the pod's processes are not on this machine");
      process.kill(first, "SIGKILL");
      const restarts = async () => (await facts(".status.containerStatuses[0].restartCount")) === "1" || undefined;
      await untilInCluster("a restart", 60_000, restarts);
      await untilReady();
      await using again = await found.forward(POD, 9090, "-n", NAMESPACE);
      const repeated = await gt(["nudge", "example", "before", "--request-id", "one", ...at(again.port)], env());
      expect(repeated).toMatchObject({ code: 0, stdout: expect.stringContaining("submitted") });
      const fresh = await gt(["nudge", "example", "after", ...at(again.port)], env());
      expect(fresh.code).toBe(0);
      const screen = (await gt(["peek", "example", "--all", ...at(again.port)], env())).stdout;
      expect([screen.includes("before"), screen.includes("after")]).toEqual([false, true]); // not typed a second time
    },
    LIMIT_MS,
  );

  it(
    "runs as an arbitrary user",
    async (context) => {
      const found = await here(context);
      const user = 700_000 + Math.floor(Math.random() * 100_000);
      await using _pod = await pod("sidecar-pod.yaml", (text) =>
        text.replace("runAsUser: 10001", `runAsUser: ${user}`).replace("runAsGroup: 10001", "runAsGroup: 0"),
      );
      expect((await kubectl("exec", POD, "--", "id", "-u")).trim()).toBe(String(user));
      await using forward = await found.forward(POD, 9090, "-n", NAMESPACE);
      expect((await gt(["nudge", "example", "hello", ...at(forward.port)], env())).code).toBe(0);
    },
    LIMIT_MS,
  );

  it(
    "stays ready and is not restarted under full load",
    async (context) => {
      const found = await here(context);
      await using _pod = await pod("sidecar-pod.yaml");
      await using forward = await found.forward(POD, 9090, "-n", NAMESPACE);
      const end = performance.now() + 30_000;
      const notReady: number[] = [];
      const ask = async () => {
        while (performance.now() < end) await gt(["peek", "example", "--all", ...at(forward.port)], env());
      };
      const probe = async () => {
        for (; performance.now() < end; await new Promise((resolve) => setTimeout(resolve, 1000))) {
          if (!(await isReady())) notReady.push(performance.now());
        }
      };
      await Promise.all([probe(), ask(), ask(), ask()]);
      expect([notReady, await facts(".status.containerStatuses[0].restartCount")]).toEqual([[], "0"]);
    },
    LIMIT_MS,
  );

  it(
    "is charged for little memory when idle",
    async (context) => {
      const found = await here(context);
      await using _pod = await pod("sidecar-pod.yaml");
      const node = await facts(".spec.nodeName");
      const mebibytes = async () => {
        const summary = JSON.parse(await found.kubectl(["get", "--raw", `/api/v1/nodes/${node}/proxy/stats/summary`]));
        const ours = summary.pods.find((one: { podRef: { name: string } }) => one.podRef.name === POD);
        const memory = ours?.containers?.[0]?.memory;
        return memory?.workingSetBytes > 0 ? Math.round(memory.workingSetBytes / 1024 / 1024) : undefined;
      };
      const charged = await untilInCluster("the kubelet's figure", 90_000, mebibytes);
      process.stderr.write(`pod, idle, demo agent included: ${charged} MiB working set\n`);
      expect(charged).toBeLessThan(256);
    },
    LIMIT_MS,
  );

  it(
    "keeps its agent while the node's kubelet and containerd crash and restart",
    async (context) => {
      const found = await here(context);
      if (found.control === undefined) return context.skip("only a cluster of our own is crashed");
      await using _pod = await pod("sidecar-pod.yaml");
      const agentPid = async () => {
        await using forward = await found.forward(POD, 9090, "-n", NAMESPACE);
        return JSON.parse((await gt(["status", "example", "--json", ...at(forward.port)], env())).stdout).agent_pid;
      };
      const before = await agentPid();
      await found.control("crash", "node");
      await found.control("start", "node");
      await untilReady();
      expect(await untilInCluster("an answer", 60_000, () => agentPid().catch(() => undefined))).toBe(before);
      expect(await facts(".status.containerStatuses[0].restartCount")).toBe("0");
    },
    LIMIT_MS,
  );
});

/**
 * The pid, on this machine, of the first process of a pod's only container; undefined if it runs on another machine.
 */
function firstProcess(podUid: string): number | undefined {
  for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
    try {
      const isOfPod = readFileSync(`/proc/${name}/cgroup`, "utf8").replaceAll("_", "-").includes(podUid);
      const isFirst = /^NSpid:.*\s1$/m.test(readFileSync(`/proc/${name}/status`, "utf8"));
      if (isOfPod && isFirst && readFileSync(`/proc/${name}/cmdline`, "utf8").includes("gt-sidecar"))
        return Number(name);
    } catch {
      // it has ended meanwhile
    }
  }
  return undefined;
}
