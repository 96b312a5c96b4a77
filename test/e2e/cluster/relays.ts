import { createPrivateKey } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, type TestContext } from "vitest";
import { signClaims } from "../../../internal/auth/mint-token.ts";
import { sessionIdOf } from "../../../internal/relay/links/bridge-names.ts";
import { type TestCluster, untilInCluster } from "../../support/cluster/cluster.ts";
import { Containers } from "../../support/cluster/containers.ts";
import { splitImage } from "../../support/cluster/helm.ts";
import { TAKEN_LOG, takenIn } from "../../support/cluster/live-pod.ts";
import { Coordinator } from "../../support/relay/relay-bed.ts";
import { SeedAgent, textResult } from "../../support/relay/seed-agent.ts";
import { townClaims } from "../../support/relay/trusted-relay.ts";

const LIMIT_MS = 600_000;
const NATS = "nats";
/** A turn outlasts the drain and the deletion of a relay, also on a busy machine. */
const [TURN_MS, DRAIN] = [60_000, "2s"];

/** Access to the installed chart. */
interface Installed {
  here(context: TestContext): Promise<TestCluster>;
  /** The folder with the first client's files. */
  clientDir(): string;
  /** The address at which pods of the release reach the controllers. */
  readonly bridge: string;
  readonly namespaces: { readonly system: string; readonly agents: string };
  /** Upgrades the release to its values and those of a file, and waits. */
  upgrade(file: string): Promise<unknown>;
  /** The image of a sidecar with the demo agent, in the node. */
  image(): string;
}

/** Tests two relays of the chart: their certificate, and a pod's work whose relay is deleted. */
export function relays({ here, clientDir, bridge, namespaces, upgrade, image }: Installed): void {
  const { system, agents } = namespaces;

  const pods = async (cluster: TestCluster) => {
    const args = ["-n", system, "get", "pods", "-l", "app.kubernetes.io/component=relay", "-o", "name"];
    return (await cluster.kubectl(args)).trim().split("\n");
  };
  const coordinator = async (cluster: TestCluster) => {
    const forward = await cluster.forward(NATS, 4222, "-n", NATS);
    return { forward, coordinator: await Coordinator.connect({ url: `nats://127.0.0.1:${forward.port}` }) };
  };
  const metric = async (cluster: TestCluster, pod: string, name: string) => {
    await using forward = await cluster.forward(pod.replace("pod/", ""), 8081, "-n", system);
    const text = await (await fetch(`http://127.0.0.1:${forward.port}/metrics`)).text();
    return Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
  };

  it("adds relays in an upgrade, with its certificate and its NATS", { timeout: LIMIT_MS }, async (context) => {
    const cluster = await here(context);
    const containers = await Containers.here(context);
    const dir = await mkdtemp(join(tmpdir(), "gt-relays-"));
    context.onTestFinished(() => rm(dir, { recursive: true, force: true }));
    const archive = join(dir, "image.tar");
    const nats = await cluster.load(archive, await containers.buildNats(archive));
    const [repository, tag] = splitImage(await cluster.load(archive, await containers.buildRelay(archive)));
    await cluster.kubectl(["apply", "-f", "-"], natsObjects(nats));
    await cluster.kubectl(["-n", NATS, "wait", "--for=condition=Ready", `pod/${NATS}`, "--timeout=120s"]);
    const command = ["gt-demo-agent", "--turn-ms", String(TURN_MS), "--steps", "4", "--log", TAKEN_LOG];
    const slow = { image: image(), imagePullPolicy: "IfNotPresent", profile: "demo", command };
    const town = { target: bridge, secretName: "gastown-client-admin", issuer: "admin", project: "default" };
    const relay = {
      ...{ enabled: true, image: { repository, tag }, nats: { url: `nats://${NATS}.${NATS}:4222` } },
      ...{ turns: { drain_timeout: DRAIN }, bridges: { town } },
      roles: { coding: { link: "bridge", bridge: "town", provider: "slow", repo_path: "/workspace" } },
    };
    const file = join(dir, "relay.json");
    await writeFile(file, JSON.stringify({ agents: { slow }, relay }));
    await upgrade(file);
    expect(await pods(cluster)).toHaveLength(2);
  });

  it("serves agents that present the first client's certificate and token", { timeout: LIMIT_MS }, async (context) => {
    const cluster = await here(context);
    const [cert, key, ca, jwtKey] = await Promise.all(
      ["tls.crt", "tls.key", "ca.crt", "jwt.key"].map((name) => readFile(join(clientDir(), name), "utf8")),
    );
    const [first = "", second = ""] = await pods(cluster);
    await using forward = await cluster.forward(first.replace("pod/", ""), 8080, "-n", system);
    const claims = townClaims({ iss: "admin", project_id: "default", session_id: "sess_dialled", role: "review" });
    const headers = { authorization: `Bearer ${signClaims(createPrivateKey(jwtKey ?? ""), claims)}` };
    const tls = { cert: cert ?? "", key: key ?? "", ca: ca ?? "" };
    const lane = { session: "sess_dialled", role: "review" };
    using agent = await SeedAgent.dial(`wss://127.0.0.1:${forward.port}`, { ...lane, headers, tls });
    agent.answer = () => textResult("reviewed");
    const at = await coordinator(cluster);
    await using _forward = at.forward;
    await using given = at.coordinator;
    await given.work(lane.session, { id: "msg_1", type: "work.review", payload: { task: "Look at it" } }, lane);
    const [result] = await given.results(lane.session, 1, lane.role);
    expect(result?.body).toMatchObject({ type: "result.success", payload: { text: "reviewed" } });
    expect(await metric(cluster, first, "gastown_relay_lanes_held")).toBe(1);
    expect(await metric(cluster, second, "gastown_relay_lanes_held")).toBe(0);
  });

  it("has a pod's agent do work once, with one result, although its relay is deleted in mid-turn", {
    timeout: LIMIT_MS,
  }, async (context) => {
    const cluster = await here(context);
    const session = "sess_deleted";
    const at = await coordinator(cluster);
    await using _forward = at.forward;
    await using given = at.coordinator;
    const task = "mind the relay";
    await given.work(session, { id: "msg_1", type: "work.coding", payload: { task } });
    const taken = async () =>
      await takenIn({ agents, cluster }, sessionIdOf({ sessionId: session, role: "coding" }, 1)).catch(
        () => [] as readonly string[],
      );
    await untilInCluster("the agent to take it", 180_000, async () => ((await taken()).length > 0 ? true : undefined));
    const holder = async () => {
      for (const pod of await pods(cluster))
        if ((await metric(cluster, pod, "gastown_relay_turns_open")) === 1) return pod;
      return undefined;
    };
    const pod = await untilInCluster("the relay with the turn", 60_000, holder);
    await cluster.kubectl(["-n", system, "delete", pod, "--wait=true", "--timeout=60s"]);
    const stored = () => given.stored("RELAY_RESULTS", `sessions.${session}.results.coding`);
    expect(await stored()).toEqual([]);
    await untilInCluster("the result", 3 * TURN_MS, async () => ((await stored()).length > 0 ? true : undefined));
    const [result] = await given.results(session, 1);
    expect(result?.body).toMatchObject({ id: "msg_1", type: "result.success" });
    await given.allSettled();
    expect(await stored()).toHaveLength(1);
    expect(await taken()).toEqual([task]);
    await cluster.kubectl(["delete", "namespace", NATS, "--wait=false"]);
  });
}

function natsObjects(image: string): string {
  const metadata = { name: NATS, namespace: NATS, labels: { app: NATS } };
  const container = { name: NATS, image, imagePullPolicy: "IfNotPresent", args: ["-js", "-sd", "/tmp/nats"] };
  const items = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NATS } },
    { apiVersion: "v1", kind: "Service", metadata, spec: { selector: { app: NATS }, ports: [{ port: 4222 }] } },
    { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [container], terminationGracePeriodSeconds: 1 } },
  ];
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}
