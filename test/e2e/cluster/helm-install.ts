import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { createClient } from "../../../pkg/bridgeclient/index.ts";
import { FollowedSession } from "../../support/bridge/followed-session.ts";
import { gt } from "../../support/bridge/gt-transcript.ts";
import type { TestCluster } from "../../support/cluster/cluster.ts";
import { component } from "../../support/cluster/components.ts";
import { CHART, Helm } from "../../support/cluster/helm.ts";
import { requireCluster, shared } from "../../support/cluster/shared-cluster.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import { TcpRelay } from "../../support/sidecar/tcp-relay.ts";

const LIMIT_MS = 600_000;
const SYSTEM = "gastown-system";
const AGENTS = "gastown-agents";
/** `npm run e2e` runs all of it. */
const isFull = process.env["GT_E2E"] === "full";

/** In order: each test goes on where the one before has ended. */
describe("the chart, installed on a real cluster and used from outside", () => {
  let cluster: TestCluster | undefined;
  let helm: Helm;
  let dir = "";
  let values = "";
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
        sessions: { retention: "5s" },
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

  /** A way to the controllers; another one after they were replaced. */
  async function forwardAgain(): Promise<void> {
    await forward?.stop();
    const kubectl = await component("kubectl");
    if ("missing" in kubectl || cluster === undefined) throw new Error("no cluster");
    const args = ["-n", SYSTEM, "port-forward", "service/gastown", ":9445"];
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

  const env = (): Record<string, string> => ({
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
    return await gt([...args, ...caller], env());
  };
  /** As a program calls that uses the SDK, at a port of this machine. */
  const consumer = (port: number) => {
    const file = (name: string) => join(dir, "admin", name);
    const mtls = { caCertPath: file("ca.crt"), certPath: file("tls.crt"), keyPath: file("tls.key") };
    const who = { issuer: "admin", subject: "admin", audience: "bridge", projectId: "default" };
    return createClient({ target: `127.0.0.1:${port}`, mtls, jwt: { privateKeyPath: file("jwt.key"), ...who } });
  };
  const statusOf = async (session: string): Promise<string | undefined> => {
    const { stdout } = await run("agents", "--json");
    const all = JSON.parse(stdout || "[]") as readonly { readonly session_id: string; readonly status: string }[];
    return all.find(({ session_id }) => session_id === session)?.status;
  };
  const untilRunning = (session: string) =>
    until(`session ${session} running`, 60_000, async () => (await statusOf(session)) === "running" || undefined);

  it("installs, and gives the first client what it needs", { timeout: LIMIT_MS }, async (context) => {
    const found = await here(context);
    const wait = ["--wait", "--timeout", "180s"];
    await helm.run("install", "gastown", CHART, "-n", SYSTEM, "--create-namespace", "-f", values, ...wait);
    await found.kubectl(["-n", SYSTEM, "wait", "--for=condition=complete", "job/gastown-setup-1", "--timeout=60s"]);
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
    expect(await run("agents")).toMatchObject({ code: 0 });
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
      expect(started).toMatchObject({ code: 0 });
      await untilRunning(session);
      expect(JSON.parse(await readFile(bead, "utf8"))[0].metadata).toEqual({
        ...{ backend: "k8s", sidecar_host: expect.stringMatching(/^[\d.:a-f]+$/), sidecar_port: "9090" },
        ...{ sidecar_session: session, bridge_server: env()["GT_SERVER"] },
      });
      const sent = await run("nudge", "gt-1", "hello from outside");
      expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining("submitted") });
      const seen = await run("peek", `first-${provider}`);
      expect(seen).toMatchObject({ code: 0, stdout: expect.stringContaining("hello from outside") });
    },
  );

  it("answers helm test", { timeout: LIMIT_MS }, async (context) => {
    await here(context);
    expect(await helm.run("test", "gastown", "-n", SYSTEM, "--timeout", "120s")).toContain("Succeeded");
  });

  if (isFull) {
    it("is upgraded and rolled back under a live session and an open stream, which both go on", {
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

  it("stops a session, whose pod and Secret go after the retention", { timeout: LIMIT_MS }, async (context) => {
    const found = await here(context);
    expect(await run("stop", "first-demo")).toMatchObject({ code: 0 });
    const left = async () =>
      await found.kubectl(["-n", AGENTS, "get", "pods,secrets", "-l", "gastown.io/session=first-demo", "-o", "name"]);
    await until("no pod and no Secret", 90_000, async () => (await left()).trim() === "" || undefined);
  });

  it("is uninstalled with a live session, and leaves nothing", { timeout: LIMIT_MS }, async (context) => {
    const found = await here(context);
    await forward?.stop();
    forward = undefined;
    await helm.run("uninstall", "gastown", "-n", SYSTEM, "--wait", "--timeout", "240s");
    const namespaces = async () =>
      (await found.kubectl(["get", "namespaces", "-o", "name"])).match(/gastown-(?:agents|ca)/);
    await until("no namespace of ours", 90_000, async () => (await namespaces()) === null || undefined);
    const kinds = "pods,deployments,services,jobs,secrets,roles,rolebindings,networkpolicies,leases";
    expect((await found.kubectl(["-n", SYSTEM, "get", kinds, "-o", "name"])).trim()).toBe("");
    const policies = ["get", "validatingadmissionpolicies,validatingadmissionpolicybindings", "-o", "name"];
    expect((await found.kubectl(policies)).trim()).toBe("");
  });
});

/** The repository of an image's name, and its tag. */
function splitImage(image: string): readonly [repository: string, tag: string] {
  const at = image.lastIndexOf(":");
  return [image.slice(0, at), image.slice(at + 1)];
}
