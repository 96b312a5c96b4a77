import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { createClient } from "../../../pkg/bridgeclient/index.ts";
import { FollowedSession } from "../../support/bridge/followed-session.ts";
import { gt } from "../../support/bridge/gt-transcript.ts";
import { type TestCluster, untilInCluster } from "../../support/cluster/cluster.ts";
import { component, requireComponent } from "../../support/cluster/components.ts";
import { CHART, Helm, splitImage } from "../../support/cluster/helm.ts";
import { requireCluster, shared } from "../../support/cluster/shared-cluster.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import { TcpRelay } from "../../support/sidecar/tcp-relay.ts";
import { adoption, REPLICA_SETS } from "./adoption.ts";
import { examples } from "./examples.ts";
import { relays } from "./relays.ts";
import { threads } from "./threads.ts";

const LIMIT_MS = 600_000;
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const SYSTEM = "gastown-system";
const AGENTS = "gastown-agents";
/** The port of the Service, so that the chart's notes name a port of this machine that is free. */
const PORT = 20_000 + Math.floor(Math.random() * 10_000);
/** `npm run e2e` runs all of it. */
const isFull = process.env["GT_E2E"] === "full";

/** In order: each test continues with the state that the previous one left. */
describe("the chart, installed on a real cluster and used from outside the cluster,", () => {
  let cluster: TestCluster | undefined;
  let helm: Helm;
  let dir = "";
  let values = "";
  let notes = "";
  let forward: { readonly port: number; readonly stop: () => Promise<void> } | undefined;

  beforeAll(async () => {
    const [program, given] = [await component("helm"), shared()];
    if ("missing" in program || given === undefined) return;
    ({ cluster } = given);
    const { image: agent, controllerImage: controller } = given;
    dir = await mkdtemp(join(tmpdir(), "gt-helm-"));
    helm = new Helm(program.path, dir, cluster.kubeconfig);
    const [repository, tag] = splitImage(controller);
    const demo = { image: agent, imagePullPolicy: "IfNotPresent", profile: "demo" };
    values = join(dir, "values.json");
    await writeFile(
      values,
      JSON.stringify({
        image: { repository, tag },
        agents: { demo, apart: { ...demo, isolation: "containers" } },
        service: { port: PORT },
        sessions: { retention: "5s" },
        namespaces: [{ name: AGENTS, project: "default", create: true, adoptAccounts: [REPLICA_SETS] }],
        clients: { readers: [{ kind: "User", name: "ann" }] },
      }),
    );
  }, LIMIT_MS);

  afterAll(async () => {
    await forward?.stop();
    if (dir !== "") await rm(dir, { recursive: true, force: true });
  }, LIMIT_MS);

  async function here(context: TestContext): Promise<TestCluster> {
    return await requireCluster(context, cluster);
  }

  /** Forwards a port to the controllers; called again after they are replaced. */
  async function forwardAgain(): Promise<void> {
    await forward?.stop();
    const kubectl = await component("kubectl");
    if ("missing" in kubectl || cluster === undefined) throw new Error("no cluster");
    await untilReplaced(cluster);
    const args = ["-n", SYSTEM, "port-forward", "service/gastown", `:${PORT}`];
    const env = { ...process.env, KUBECONFIG: cluster.kubeconfig };
    const child = spawn(kubectl.path, args, { env, stdio: ["ignore", "pipe", "ignore"] });
    const ended = once(child, "close");
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    const port = await until("a forwarded port", 30_000, () => /127\.0\.0\.1:(\d+) ->/.exec(text)?.[1]);
    const stop = async () => {
      child.kill("SIGTERM");
      await ended;
    };
    forward = { port: Number(port), stop };
  }

  /** Waits until no earlier controller is left: kubectl would forward the port to it, up to its end. */
  async function untilReplaced(found: TestCluster): Promise<void> {
    await found.kubectl(["-n", SYSTEM, "rollout", "status", "deployment/gastown", "--timeout=170s"]);
    const ours = ["-n", SYSTEM, "get", "pods", "-l", "app.kubernetes.io/component=controller"];
    const ending = [...ours, "-o", "jsonpath={.items[*].metadata.deletionTimestamp}"];
    await untilInCluster("the end of earlier controllers", 120_000, async () =>
      (await found.kubectl(ending)) === "" ? true : undefined,
    );
  }

  const environment = (): Record<string, string> => ({
    PATH: `${join(dir, "bin")}:${process.env["PATH"] ?? ""}`,
    FAKE_BD: join(dir, "beads"),
    HOME: dir,
    XDG_RUNTIME_DIR: dir,
    LANG: "C.UTF-8",
    GT_SERVER: `127.0.0.1:${forward?.port ?? 0}`,
    GT_TLS_DIR: join(dir, "admin"),
  });
  const run = async (...args: readonly string[]) => {
    const caller = ["--jwt-key", join(dir, "admin", "jwt.key"), "--jwt-issuer", "admin", "--project", "default"];
    return await gt([...args, ...caller], environment());
  };
  /** A program that uses the SDK, calling through a port of this machine. */
  const consumer = (port: number) => {
    const file = (name: string) => join(dir, "admin", name);
    const mtls = { caCertPath: file("ca.crt"), certPath: file("tls.crt"), keyPath: file("tls.key") };
    const who = { issuer: "admin", subject: "admin", audience: "bridge", projectId: "default" };
    return createClient({ target: `127.0.0.1:${port}`, mtls, jwt: { privateKeyPath: file("jwt.key"), ...who } });
  };
  it("installs, and gives the first client its files", { timeout: LIMIT_MS }, async (context) => {
    const found = await here(context);
    const wait = ["--wait", "--timeout", "180s"];
    notes = await helm.run("install", "gastown", CHART, "-n", SYSTEM, "--create-namespace", "-f", values, ...wait);
    const setUp = ["job", "-l", "app.kubernetes.io/component=setup", "--timeout=60s"];
    await found.kubectl(["-n", SYSTEM, "wait", "--for=condition=complete", ...setUp]);
    await mkdir(join(dir, "admin"), { mode: 0o700 });
    await mkdir(join(dir, "beads"));
    await mkdir(join(dir, "bin"));
    await copyFile(fileURLToPath(new URL("../../fakes/bd", import.meta.url)), join(dir, "bin", "bd"));
    const read = ["-n", SYSTEM, "get", "secret", "gastown-client-admin", "-o", "jsonpath={.data}"];
    const data = JSON.parse(await found.kubectl(read)) as Record<string, string>;
    for (const [name, base64] of Object.entries(data)) {
      await writeFile(join(dir, "admin", name), Buffer.from(base64, "base64"), { mode: 0o600 });
      await chmod(join(dir, "admin", name), 0o600);
    }
    await forwardAgain();
    const agents = await run("agents");
    expect(agents, agents.stderr).toMatchObject({ code: 0 });
  });

  it.for(["demo", "apart"])(
    "starts, nudges and peeks at an agent (%s)",
    { timeout: LIMIT_MS },
    async (provider, context) => {
      await here(context);
      const bead = join(dir, "beads", "gt-1.json");
      await writeFile(bead, JSON.stringify([{ id: "gt-1" }]));
      const session = `first-${provider}`;
      const started = await run("start", provider, "/workspace/shop", "--session", session, "--bead", "gt-1");
      expect(started).toMatchObject({ code: 0, stdout: expect.stringContaining(", running\n") });
      expect(JSON.parse(await readFile(bead, "utf8"))[0].metadata).toEqual({
        ...{ backend: "k8s", sidecar_host: expect.stringMatching(/^[\d.:a-f]+$/), sidecar_port: "9090" },
        ...{ sidecar_session: session, bridge_server: environment()["GT_SERVER"] },
      });
      const sent = await run("nudge", "gt-1", "hello from outside");
      expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining("submitted") });
      const seen = await run("peek", `first-${provider}`);
      expect(seen).toMatchObject({ code: 0, stdout: expect.stringContaining("hello from outside") });
    },
  );

  it("prints first commands that run unchanged", { timeout: LIMIT_MS }, async (context) => {
    const found = await here(context);
    const [program, gtFolder] = [await requireComponent(context, "kubectl"), join(ROOT, "cmd", "gt")];
    const script = /^Next: .*\n((?:.*\n)*? {2}gt agents\n)/m.exec(notes)?.[1] ?? "exit 1";
    const home = join(dir, "person");
    await mkdir(home);
    const env = { PATH: `${gtFolder}:${dirname(program)}:${process.env["PATH"]}`, HOME: home, LANG: "C.UTF-8" };
    const ending = 'trap "kill %1; wait" EXIT; set -e';
    // The port is forwarded a moment after the command has started.
    const listening = `:${PORT.toString(16).toUpperCase()} 00000000:0000 0A`;
    const isForwarded = `until grep -q '${listening}' /proc/net/tcp; do sleep 0.2; done`;
    const patient = script.replace(/^(.*port-forward.*&)$/m, `$1\n${isForwarded}`);
    const { stdout } = await promisify(execFile)("bash", ["-c", `set -m; ${ending}\n${patient}`], {
      cwd: home,
      env: { ...env, KUBECONFIG: found.kubeconfig },
      timeout: 120_000,
    });
    expect(stdout).toContain("one is idle");
    expect(stdout).toMatch(/^one +one +apart +running +\/workspace$/m);
  });

  it("gives a reader the rights that gt needs to peek by label, and no others", {
    timeout: LIMIT_MS,
  }, async (context) => {
    const found = await here(context);
    const view = JSON.parse(await found.kubectl(["config", "view", "--raw", "--minify", "-o", "json"]));
    view.users[0].user.as = "ann";
    const kubeconfig = join(dir, "ann.json");
    await writeFile(kubeconfig, JSON.stringify(view), { mode: 0o600 });
    const { GT_SERVER: _, ...rest } = environment();
    const env = { ...rest, KUBECONFIG: kubeconfig };
    const place = ["--context", view["current-context"], "--namespace", AGENTS];
    const peek = async () => await gt(["peek", "first-demo", ...place], env);
    const get = ["-n", AGENTS, "get", "role", "gastown-reader", "-o", "jsonpath={.rules}"];
    const rules = JSON.parse(await found.kubectl(get)) as readonly { resources: string[]; verbs: string[] }[];
    const set = async (to: readonly object[]) => {
      const patch = JSON.stringify([{ op: "replace", path: "/rules", value: to }]);
      await found.kubectl(["-n", AGENTS, "patch", "role", "gastown-reader", "--type=json", "-p", patch]);
    };
    const works = async () => ((await peek()).stdout.includes("hello from outside") ? true : undefined);
    await untilInCluster("a peek with all rights", 30_000, works);
    const needed: string[] = [];
    for (const [i, { resources, verbs }] of rules.entries()) {
      for (const verb of verbs) {
        await set(
          rules
            .map((rule, j) => (i === j ? { ...rule, verbs: verbs.filter((each) => each !== verb) } : rule))
            .filter((rule) => rule.verbs.length > 0),
        );
        const isRefused = async () => ((await peek()).stderr.includes("forbidden") ? true : undefined);
        await untilInCluster(`a peek without ${verb} ${resources} refused`, 30_000, isRefused);
        needed.push(`${verb} ${resources}`);
      }
    }
    await set(rules);
    expect(needed).toEqual(["list pods", "get pods/portforward", "create pods/portforward"]);
  });

  adoption({ here, run, namespace: AGENTS, image: () => shared()?.image ?? "" });

  if (isFull) examples({ here, clientDir: () => join(dir, "admin"), port: () => forward?.port ?? 0 });

  it("passes helm test", { timeout: LIMIT_MS }, async (context) => {
    await here(context);
    expect(await helm.run("test", "gastown", "-n", SYSTEM, "--timeout", "120s")).toContain("Succeeded");
  });

  if (isFull) {
    it("is upgraded and rolled back while a session and an open stream continue", {
      timeout: LIMIT_MS,
    }, async (context) => {
      const found = await here(context);
      const uid = async () =>
        await found.kubectl([
          "-n",
          AGENTS,
          "get",
          "pod",
          "-l",
          "gastown.io/session=first-demo",
          "-o",
          "jsonpath={.items[0].metadata.uid}",
        ]);
      const before = await uid();
      await using relay = await TcpRelay.to(forward?.port ?? 0);
      const client = consumer(relay.port);
      await using followed = new FollowedSession(client.session("first-demo"));
      await followed.nudged("before-the-upgrade");
      const wait = ["--wait", "--timeout", "180s"];
      const changes = {
        upgrade: ["upgrade", "gastown", CHART, "-f", values, "--set", "logLevel=debug"],
        rollback: ["rollback", "gastown", "1"],
      };
      for (const [name, command] of Object.entries(changes)) {
        await helm.run(...command, "-n", SYSTEM, ...wait);
        await forwardAgain();
        relay.target = forward?.port ?? 0;
        expect(await run("nudge", "first-demo", `after the ${name}`)).toMatchObject({ code: 0 });
        await followed.nudged(`followed-over-the-${name}`);
      }
      expect(await uid()).toBe(before);
      expect([followed.unnamed, followed.ended]).toEqual([[], undefined]);
      await client.close();
    });
  }

  it("stops a session, whose pod and Secret are deleted after the retention", {
    timeout: LIMIT_MS,
  }, async (context) => {
    const found = await here(context);
    expect(await run("stop", "first-demo")).toMatchObject({ code: 0 });
    const left = async () =>
      await found.kubectl(["-n", AGENTS, "get", "pods,secrets", "-l", "gastown.io/session=first-demo", "-o", "name"]);
    await untilInCluster("no pod and no Secret", 90_000, async () => (await left()).trim() === "" || undefined);
  });

  // The upgrade replaces the controllers, and with them the end of the forwarded port.
  relays({
    here,
    clientDir: () => join(dir, "admin"),
    bridge: `gastown:${PORT}`,
    namespaces: { system: SYSTEM, agents: AGENTS },
    upgrade: (file) => helm.run("upgrade", "gastown", CHART, "-n", SYSTEM, "-f", values, "-f", file, "--wait"),
    image: () => shared()?.image ?? "",
  });

  threads({
    here,
    clientDir: () => join(dir, "admin"),
    namespaces: { system: SYSTEM, agents: AGENTS },
    upgrade: async (file) => {
      await helm.run("upgrade", "gastown", CHART, "-n", SYSTEM, "-f", values, "-f", file, "--wait");
      await forwardAgain();
    },
    run,
    image: () => shared()?.image ?? "",
  });

  it("is uninstalled with a live session, and leaves only the namespaces, which the command in its notes deletes", {
    timeout: LIMIT_MS,
  }, async (context) => {
    const found = await here(context);
    await forward?.stop();
    forward = undefined;
    await helm.run("uninstall", "gastown", "-n", SYSTEM, "--wait", "--timeout", "240s");
    const pods = async () => (await found.kubectl(["-n", AGENTS, "get", "pods,secrets", "-o", "name"])).trim();
    await untilInCluster("no pod and no Secret of ours", 90_000, async () => (await pods()) === "" || undefined);
    expect(await found.kubectl(["-n", "gastown-ca", "get", "secret", "gastown-ca", "-o", "name"])).toContain(
      "gastown-ca",
    );
    const command = /^ {2}kubectl (delete namespace .*)$/m.exec(notes)?.[1] ?? "";
    await found.kubectl(command.split(" "));
    const namespaces = async () =>
      (await found.kubectl(["get", "namespaces", "-o", "name"])).match(/gastown-(?:agents|ca)/);
    await untilInCluster("no namespace of ours", 90_000, async () => (await namespaces()) === null || undefined);
    const kinds = "pods,deployments,services,jobs,secrets,roles,rolebindings,networkpolicies,leases";
    expect((await found.kubectl(["-n", SYSTEM, "get", kinds, "-o", "name"])).trim()).toBe("");
    const policies = ["get", "validatingadmissionpolicies,validatingadmissionpolicybindings", "-o", "name"];
    expect((await found.kubectl(policies)).trim()).toBe("");
  });
});
