import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import type { ControllerConfig } from "../../cmd/gt-controller/controller-config.ts";
import { agentPod } from "../../internal/controller/pods/pod-template.ts";
import { sessionPodPlan } from "../../internal/controller/sessions/session-pod.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import { type TestCluster, testCluster, untilInCluster } from "../support/cluster/cluster.ts";
import { component, requireMade } from "../support/cluster/components.ts";
import { CHART, configIn, Helm, manifestsOf } from "../support/cluster/helm.ts";
import { plainPod } from "../support/cluster/plain-pod.ts";
import { rulesOf } from "../support/cluster/rules-of.ts";
import { programFile } from "../support/programs.ts";
import { chartLeftovers } from "./chart-leftovers.ts";
import { chartUpgrades } from "./chart-upgrades.ts";

const LIMIT_MS = 300_000;
const SYSTEM = "gastown-system";
const AGENTS = "gastown-agents";
const ADOPTING = "adopting-agents";
const CONTROLLER = `system:serviceaccount:${SYSTEM}:gastown`;
const DEPLOYER = "system:serviceaccount:ci:deployer";

describe("the chart on a real API server", () => {
  let cluster: TestCluster | undefined;
  let helm: Helm;
  let dir = "";
  let notes = "";
  let manifest = "";
  let config: ControllerConfig;
  /** The cluster admin's kubeconfig, as JSON. */
  let adminView = "";

  const values = {
    namespaces: [
      { name: AGENTS, project: "default", create: true },
      { name: ADOPTING, project: "desk", create: true, adoptAccounts: [DEPLOYER] },
    ],
    clients: { readers: [{ kind: "User", name: "ann" }] },
    auth: { audience: "town" },
    service: { port: 443 },
    agents: { demo: { image: "gt-sidecar:0.1.0" }, apart: { image: "gt-sidecar:0.1.0", isolation: "containers" } },
  };

  beforeAll(async () => {
    const program = await component("helm");
    if ("missing" in program) return;
    const found = await testCluster(`gt-chart-${process.pid}`, "none");
    if ("missing" in found) return;
    cluster = found;
    dir = await mkdtemp(join(tmpdir(), "gt-chart-"));
    helm = new Helm(program.path, dir, cluster.kubeconfig);
    const file = join(dir, "values.json");
    await writeFile(file, JSON.stringify(values));
    notes = await helm.run("install", "gastown", CHART, "-n", SYSTEM, "--create-namespace", "-f", file);
    manifest = await helm.run("get", "manifest", "gastown", "-n", SYSTEM);
    config = configIn(manifest);
    adminView = await cluster.kubectl(["config", "view", "--raw", "--minify", "-o", "json"]);
    const spoofed = JSON.stringify(plainPod("first", { "gastown.io/agent": "x" }));
    const isRefused = async () =>
      await cluster?.kubectl(["-n", AGENTS, "create", "--dry-run=server", "-f", "-"], spoofed).then(
        () => undefined,
        (err) => /only the controller/.test(String(err)) || undefined,
      );
    await untilInCluster("the label policy in force", 60_000, isRefused);
  }, LIMIT_MS);

  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    if (dir !== "") await rm(dir, { recursive: true, force: true });
  }, LIMIT_MS);

  const here = (context: TestContext) => requireMade(context, cluster, ["kubectl", "cluster", "helm"], "no cluster");

  const create = async (namespace: string, pod: object, ...args: string[]) =>
    await (cluster as TestCluster).kubectl(["-n", namespace, "create", ...args, "-f", "-"], JSON.stringify(pod));
  const as = (user: string) => `--as=${user}`;
  const patch = async (name: string, metadata: object, ...args: string[]) => {
    const change = ["--type=merge", "-p", JSON.stringify({ metadata }), ...args];
    return await (cluster as TestCluster).kubectl(["-n", AGENTS, "patch", "pod", name, ...change]);
  };

  function sessionPod(id: string, provider: string) {
    const [binding] = config.settings.namespaces;
    if (binding === undefined) throw new Error("no namespace");
    const session = { id, provider, repoPath: "/workspace/shop", agentOpts: {}, startedBy: "test" };
    const options = { retentionMs: 600_000, allowClients: () => [], hasTokens: true };
    return agentPod(sessionPodPlan(session, binding, options));
  }

  it("installs, and its notes name the next steps and only what is missing", async (context) => {
    await here(context);
    expect(notes).toContain("get secret gastown-client-admin");
    expect(notes).not.toMatch(/MISSING|WARNING/);
  });

  it("accepts a limit of all sessions below a project's limit, and says which one applies", async (context) => {
    await here(context);
    const less = ["--reuse-values", "--set", "sessions.maxGlobal=2", "--dry-run=server"];
    const said = await helm.run("upgrade", "gastown", CHART, "-n", SYSTEM, ...less);
    expect(said).toContain("sessions.maxPerProject (50) exceeds sessions.maxGlobal (2), which takes precedence");
    expect(said).toMatch(/max_global: 2$/m);
  });

  it.for(["demo", "apart"])(
    "lets the controller create its own pods (%s), which the namespace's Pod Security admits",
    async (provider, context) => {
      await here(context);
      await create(AGENTS, sessionPod(`own-${provider}`, provider), as(CONTROLLER));
    },
  );

  it('refuses pods in an agents\' namespace that Pod Security "restricted" forbids', async (context) => {
    await here(context);
    const pod = plainPod("root");
    await expect(create(AGENTS, { ...pod, spec: { ...pod.spec, securityContext: {} } })).rejects.toThrow(
      /violates PodSecurity "restricted/,
    );
  });

  it.for([
    ["an agent", { "gastown.io/agent": "toast" }, {}],
    ["a session", { "gastown.io/session": "one" }, {}],
    ["a client of sidecars", { "gastown.io/client": "true" }, {}],
    ["managed by us", { "app.kubernetes.io/managed-by": "gastown" }, {}],
    ["an agent's address", {}, { "gastown.io/address": "shop/toast" }],
  ] as const)(
    "lets no other account, not even the cluster's admin, create a pod that claims to be %s",
    async ([, labels, annotations], context) => {
      await here(context);
      await expect(create(AGENTS, plainPod("spoof", labels, annotations))).rejects.toThrow(/only the controller/);
    },
  );

  it("lets the accounts listed for a namespace create pods for adoption, and only there", async (context) => {
    const found = await here(context);
    for (const namespace of [AGENTS, ADOPTING]) {
      const make = ["-n", namespace, "create"];
      await found.kubectl([...make, "role", "deploy", "--verb=create", "--resource=pods"]);
      await found.kubectl([...make, "rolebinding", "deploy", "--role=deploy", "--serviceaccount=ci:deployer"]);
    }
    const pod = plainPod("adopted", { "gastown.io/agent": "toast" });
    await create(ADOPTING, pod, as(DEPLOYER));
    await expect(create(AGENTS, pod, as(DEPLOYER))).rejects.toThrow(/only the controller/);
    await expect(
      create(ADOPTING, plainPod("ours", { "app.kubernetes.io/managed-by": "gastown" }), as(DEPLOYER)),
    ).rejects.toThrow(/managed by gastown/);
  });

  it("lets no account change a pod's labels, and only the controller its annotations", async (context) => {
    await here(context);
    const pod = sessionPod("marked", "demo");
    const name = pod.metadata?.name ?? "";
    await create(AGENTS, pod, as(CONTROLLER));
    const changes = [
      { "gastown.io/agent": "other" },
      { "gastown.io/agent": null },
      { "gastown.io/rig": "more" },
      { "app.kubernetes.io/managed-by": null },
    ];
    for (const labels of changes)
      await expect(patch(name, { labels }, as(CONTROLLER))).rejects.toThrow(/cannot be changed/);
    await expect(patch(name, { annotations: { "gastown.io/cert-serial": "1" } })).rejects.toThrow(
      /only the controller changes/,
    );
    await patch(name, { annotations: { "gastown.io/cert-serial": "1" } }, as(CONTROLLER));
    await patch(name, { labels: { team: "a" }, annotations: { note: "b" } });
  });

  it("lets no account label a pod through its status or its Binding", async (context) => {
    const found = await here(context);
    await create(AGENTS, plainPod("unbound"));
    const labels = { "gastown.io/session": "spoof" };
    const byStatus = patch("unbound", { labels }, "--subresource=status");
    await expect(byStatus).rejects.toThrow(/cannot be changed/);
    const target = { apiVersion: "v1", kind: "Node", name: "nowhere" };
    const bind = async (metadata: object, path: string) =>
      await found.kubectl(
        ["create", "--raw", `/api/v1/namespaces/${AGENTS}/${path}`, "-f", "-"],
        JSON.stringify({ apiVersion: "v1", kind: "Binding", metadata: { name: "unbound", ...metadata }, target }),
      );
    for (const path of ["pods/unbound/binding", "bindings"])
      for (const metadata of [
        { labels },
        { labels: { "app.kubernetes.io/managed-by": "gastown" } },
        { annotations: { "gastown.io/session-id": "spoof" } },
      ])
        await expect(bind(metadata, path)).rejects.toThrow(/a Binding sets no gastown/);
    await bind({ labels: { team: "a" } }, "pods/unbound/binding");
  });

  it("lets a person of clients.readers find pods with gt, and tells others which right they lack", async (context) => {
    const found = await here(context);
    await create(AGENTS, sessionPod("read/me", "demo"), as(CONTROLLER));
    const listed = JSON.parse(await gtAs("ann", "agents", "--json")) as { agent: string; reason: string }[];
    const facts = { type: "pod", namespace: AGENTS, provider: "demo", tls: true, status: "starting" };
    expect(listed.find(({ agent }) => agent === "read/me")).toMatchObject({ ...facts, session_id: "read/me" });
    expect(await gtAs("ann", "peek", "read/me")).toMatch(
      /gt: error: pod gastown-agents\/\S+ is not ready yet \(SchedulingGated\)/,
    );
    expect(await gtAs("ann", "peek", "nobody")).toMatch(
      /context "\S+" has no agent "nobody"; running there: .*read\/me/,
    );
    expect(await gtAs("bob", "peek", "read/me")).toMatch(
      /User "bob" cannot list resource "pods"[\s\S]*clients\.readers/,
    );
    const everyones = await rulesOf(found, "system:serviceaccount:default:nobody", AGENTS);
    const own = (await rulesOf(found, "ann", AGENTS)).filter((one) => !everyones.includes(one));
    expect(own).toEqual(["pods/portforward: create,get", "pods: list"]);
  });

  it.for([
    [AGENTS, ["pods: create,delete,get,list,patch,watch", "secrets: create,delete,get,list,update,watch"]],
    ["gastown-ca", ["events: create", "secrets gastown-ca: get,patch"]],
    [SYSTEM, ["leases: create", "leases gastown-controller: get,update", "secrets gastown-client-admin: get,patch"]],
    ["default", []],
    ["kube-system", []],
  ] as const)("gives the controller in %s exactly what it needs", async ([namespace, rules], context) => {
    const found = await here(context);
    const own = await rulesOf(found, CONTROLLER, namespace);
    const everyones = await rulesOf(found, "system:serviceaccount:default:nobody", namespace);
    const texts = own.filter((one) => !everyones.includes(one));
    expect(texts).toEqual([...rules].sort());
  });

  it("is accepted by the API server with each file of ci/", { timeout: LIMIT_MS }, async (context) => {
    const found = await here(context);
    const monitor = (kind: string) => {
      const plural = `${kind.toLowerCase()}s`;
      const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
      const versions = [{ name: "v1", served: true, storage: true, schema }];
      return {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: `${plural}.monitoring.coreos.com` },
        spec: { group: "monitoring.coreos.com", scope: "Namespaced", names: { kind, plural }, versions },
      };
    };
    const definitions = ["ServiceMonitor", "PodMonitor", "PrometheusRule"].map(monitor);
    await found.kubectl(["apply", "-f", "-"], definitions.map((one) => JSON.stringify(one)).join("\n---\n"));
    const files = await readdir(join(CHART, "ci"));
    const texts = await Promise.all(
      files.map((file) => helm.template("dry", "--no-hooks", "-f", join(CHART, "ci", file))),
    );
    const hooks = await helm.template("dry");
    const names = [...texts, hooks].flatMap((text) =>
      manifestsOf(text).flatMap(({ kind, metadata }) =>
        kind === "Namespace" ? metadata.name : (metadata.namespace ?? []),
      ),
    );
    const missing = [...new Set(names)].map((name) =>
      JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name } }),
    );
    await found.kubectl(["apply", "--server-side", "-f", "-"], missing.join("\n---\n"));
    const apply = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-"];
    const answers = [...texts, hooks].map((text) => found.kubectl(apply, text).catch(String));
    for (const [i, answer] of (await Promise.all(answers)).entries()) {
      expect(answer, files[i]).toMatch(/^(?:.+ serverside-applied \(server dry run\)\s)+$/);
    }
  });

  it("creates the CA and the first client's files by the setup Job's account, which may do nothing else", {
    timeout: LIMIT_MS,
  }, async (context) => {
    const found = await here(context);
    const setup = `system:serviceaccount:${SYSTEM}:gastown-setup`;
    const printed = await controllerAs(setup, "init-ca", "--client", "admin");
    expect(printed).toMatch(/^made +gastown-ca\/gastown-ca /);
    expect(printed).toContain("\nNext:\n");
    expect(printed).toContain('go-template="{{index .data \\"$file\\" | base64decode}}"');
    expect(printed).toContain(" port-forward deployment/gastown 9445:9445 &\n");
    expect(printed).toMatch(
      / jwt-issuer admin\n {2}gt config set jwt-audience town\n {2}gt config set project default\n/,
    );
    const keys = async (namespace: string, name: string) =>
      Object.keys(
        JSON.parse(await found.kubectl(["-n", namespace, "get", "secret", name, "-o", "jsonpath={.data}"])),
      ).sort();
    expect(await keys("gastown-ca", "gastown-ca")).toEqual(["ca.crt", "ca.key"]);
    expect(await keys(SYSTEM, "gastown-client-admin")).toEqual(["ca.crt", "jwt.key", "tls.crt", "tls.key"]);
    expect(await controllerAs(setup, "init-ca")).toMatch(/^kept +gastown-ca/);
    expect(await rulesOf(found, setup, AGENTS)).toEqual(
      await rulesOf(found, "system:serviceaccount:default:nobody", AGENTS),
    );
  });

  const upgraded = { here, helm: () => helm, dir: () => dir, values };
  chartUpgrades(upgraded, (namespace) => create(namespace, sessionPod("kept", "demo"), as(CONTROLLER)));
  chartLeftovers(upgraded);

  it("is uninstalled without leftovers; the CA, others' pods and the namespaces stay", {
    timeout: LIMIT_MS,
  }, async (context) => {
    const found = await here(context);
    const hooks = manifestsOf(await helm.run("get", "hooks", "gastown", "-n", SYSTEM));
    manifest = await helm.run("get", "manifest", "gastown", "-n", SYSTEM);
    const accounts = hooks.filter(({ kind }) => ["ServiceAccount", "Role", "RoleBinding"].includes(kind));
    await found.kubectl(["apply", "-f", "-"], accounts.map((one) => JSON.stringify(one)).join("\n---\n"));
    await controllerAs(`system:serviceaccount:${SYSTEM}:gastown-uninstall`, "uninstall", "--timeout", "60s");
    const ours = async () =>
      await found.kubectl(["get", "pods,secrets", "-A", "-l", "app.kubernetes.io/managed-by=gastown", "-o", "name"]);
    expect((await ours()).trim()).toBe("secret/gastown-ca");
    await found.kubectl(["delete", "-f", "-"], accounts.map((one) => JSON.stringify(one)).join("\n---\n"));
    await helm.run("uninstall", "gastown", "-n", SYSTEM, "--no-hooks");
    const kinds =
      "deployments,services,serviceaccounts,configmaps,roles,rolebindings,networkpolicies,jobs,validatingadmissionpolicies,poddisruptionbudgets";
    const left = async () =>
      (await found.kubectl(["get", kinds, "-A", "-l", "app.kubernetes.io/instance=gastown", "-o", "name"])).trim();
    await untilInCluster("nothing left", 60_000, async () => (await left()) === "" || undefined);
    for (const name of ["gastown-ca", AGENTS]) await found.kubectl(["get", "namespace", name, "-o", "name"]);
    expect(await found.kubectl(["-n", ADOPTING, "get", "pod", "adopted", "-o", "name"])).toContain("adopted");
  });

  /** A kubeconfig with the rights of an account, and the name of its context. */
  async function kubeconfigAs(account: string): Promise<{ readonly path: string; readonly context: string }> {
    const view = JSON.parse(adminView);
    view.users[0].user.as = account;
    const path = join(dir, "kubeconfig.json");
    await writeFile(path, JSON.stringify(view), { mode: 0o600 });
    return { path, context: view["current-context"] };
  }

  /** The output of gt for a person with a context of this cluster. */
  async function gtAs(user: string, ...args: readonly string[]): Promise<string> {
    const { path, context } = await kubeconfigAs(user);
    const place = ["--context", context, "--namespace", AGENTS];
    const said = await gt([...args, ...place], { KUBECONFIG: path, HOME: dir });
    return said.code === 0 ? said.stdout : said.stderr;
  }

  /** Runs gt-controller with the rights of an account, outside the cluster. */
  async function controllerAs(account: string, ...args: readonly string[]): Promise<string> {
    const { path: kubeconfig } = await kubeconfigAs(account);
    const file = join(dir, "controller.yaml");
    const [map] = manifestsOf(manifest).filter(({ kind }) => kind === "ConfigMap");
    await writeFile(file, map?.data?.["controller.yaml"] ?? "");
    const flags = ["--config", file, "--kubeconfig", kubeconfig, "--namespace", SYSTEM];
    const command = [programFile("gt-controller"), ...args, ...flags];
    const { stdout } = await promisify(execFile)(process.execPath, command, { timeout: 60_000 });
    return stdout;
  }
});
