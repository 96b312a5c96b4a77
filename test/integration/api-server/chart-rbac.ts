import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { systemClock } from "../../../internal/base/clock.ts";
import { kubeconfigCredentials } from "../../../internal/kube/access/kubeconfig.ts";
import { KubeTransport } from "../../../internal/kube/transport.ts";
import type { AuditedRequest } from "../../support/cluster/api-audit.ts";
import { type TestCluster, untilInCluster } from "../../support/cluster/cluster.ts";
import { component, requireMade } from "../../support/cluster/components.ts";
import { ControllerCluster } from "../../support/cluster/controller-cluster.ts";
import { Helm, type Manifest, manifestsOf } from "../../support/cluster/helm.ts";
import { sharedApiServer } from "../../support/cluster/shared-cluster.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import { silentLogger } from "../../support/silent-logger.ts";

const LIMIT_MS = 300_000;
const [SYSTEM, CA, AGENTS] = ["town-system", "town-ca", "town-agents"];
const never = new AbortController().signal;

/** Every right of the chart's roles: account, namespace, resource, verbs. */
const RIGHTS = [
  ["gastown", AGENTS, "pods", ["get", "list", "watch", "create", "delete", "patch"]],
  ["gastown", AGENTS, "secrets", ["get", "list", "watch", "create", "update", "delete"]],
  ["gastown", CA, "secrets", ["get", "patch"]],
  ["gastown", CA, "events", ["create"]],
  ["gastown", SYSTEM, "leases", ["create", "get", "update"]],
  ["gastown", SYSTEM, "secrets", ["get", "patch"]],
  ["gastown-setup", SYSTEM, "secrets", ["create", "get", "patch"]],
  ["gastown-setup", SYSTEM, "configmaps", ["get"]],
  ["gastown-setup", CA, "secrets", ["create", "get"]],
  ["gastown-uninstall", SYSTEM, "deployments/scale", ["patch"]],
  ["gastown-uninstall", SYSTEM, "deployments", ["get"]],
  ["gastown-uninstall", SYSTEM, "pods", ["list"]],
  ["gastown-uninstall", SYSTEM, "secrets", ["get", "delete"]],
  ["gastown-uninstall", SYSTEM, "leases", ["delete"]],
  ["gastown-uninstall", AGENTS, "pods", ["list", "delete"]],
] as const;
const EACH = RIGHTS.flatMap(([account, namespace, resource, verbs]) =>
  verbs.map((verb) => [account, verb, resource, namespace] as const),
);

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}
type Role = Manifest & { readonly rules: readonly Rule[] };
type Binding = Manifest & {
  readonly roleRef: { readonly name: string };
  readonly subjects: readonly { name: string }[];
};

/**
 * The programs do everything that they can do with the rights of their accounts, and the API server records their
 * requests. Then its authorizer judges the recorded requests again, for accounts that lack one verb each.
 */
describe("the rights that the chart gives, on a real API server", () => {
  let cluster: TestCluster | undefined;
  let town: ControllerCluster | undefined;
  let dir = "";
  let roles: readonly Role[] = [];
  let bindings: readonly Binding[] = [];
  let made: readonly AuditedRequest[] = [];
  let api: KubeTransport;
  const stop = new AbortController();
  let running: Promise<void> | undefined;

  beforeAll(async () => {
    const program = await component("helm");
    if ("missing" in program) return;
    const given = sharedApiServer();
    if (given?.cluster.control === undefined) return;
    cluster = given.cluster;
    dir = await mkdtemp(join(tmpdir(), "gt-rbac-"));
    town = await ControllerCluster.make(cluster, undefined);
    const [namespaces, client] = [[{ name: AGENTS, project: "shop" }], "gastown-client-admin"];
    const secrets = [
      { name: client, owner: client, client: "admin" },
      { name: "gastown-relay-tls", owner: "gastown-relay", server: ["gastown-relay"] },
    ];
    await town.configure("agent:1", { retention: "1s" }, { namespaces, secrets });
    const relay = { enabled: true, nats: { url: "nats://nats:4222" } };
    const values = { namespaces: [{ name: AGENTS, project: "shop" }], "ca.namespace": CA, relay };
    const sets = Object.entries(values).flatMap(([key, value]) => ["--set-json", `${key}=${JSON.stringify(value)}`]);
    const text = await new Helm(program.path, dir).template("gastown", "-n", SYSTEM ?? "", ...sets);
    const all = manifestsOf(text);
    roles = all.filter(({ kind }) => kind === "Role" || kind === "ClusterRole") as Role[];
    bindings = all.filter(({ kind }) => kind === "RoleBinding" || kind === "ClusterRoleBinding") as Binding[];
    await apply([...roles, ...bindings]);
    const credentials = await kubeconfigCredentials(cluster.kubeconfig);
    api = new KubeTransport({ credentials, clock: systemClock, logger: silentLogger });
    running = api.run(stop.signal);
    await setUp(town);
    await useController(town, cluster);
    await setUpAndUninstall(town, cluster);
    made = await given.audit.requests(`system:serviceaccount:${SYSTEM}:`);
    await apply(EACH.flatMap((right, i) => without(right, `lacks-${i}`)));
  }, LIMIT_MS);

  afterAll(async () => {
    stop.abort(new Error("tests end"));
    await running;
    await town?.[Symbol.asyncDispose]();
    if (dir !== "") await rm(dir, { recursive: true, force: true });
  }, LIMIT_MS);

  const here = (context: TestContext) =>
    requireMade(context, cluster, ["kubectl", "cluster", "helm"], "needs an API server of our own");
  const apply = async (objects: readonly object[]) =>
    await cluster?.kubectl(
      ["apply", "--server-side", "-f", "-"],
      objects.map((one) => JSON.stringify(one)).join("\n---\n"),
    );
  const of = (account: string) => `system:serviceaccount:${SYSTEM}:${account}`;
  const isFor = ([account, verb, resource, namespace]: (typeof EACH)[number]) => {
    return (request: AuditedRequest) =>
      request.user === of(account) &&
      request.verb === verb &&
      request.resource === resource &&
      request.namespace === namespace;
  };

  /** The account's roles, bound to a user, without one verb of one resource in one namespace. */
  function without([account, verb, resource, namespace]: (typeof EACH)[number], user: string): readonly object[] {
    const bound = bindings.filter(({ subjects }) => subjects.some(({ name }) => name === account));
    return bound.flatMap(({ metadata, roleRef }) => {
      const role = roles.find(
        (one) => one.metadata.name === roleRef.name && one.metadata.namespace === metadata.namespace,
      );
      const isHere = metadata.namespace === namespace;
      const rules = (role?.rules ?? []).map((rule) => {
        const isMeant = isHere && rule.resources.includes(resource);
        return isMeant ? { ...rule, verbs: rule.verbs.filter((each) => each !== verb) } : rule;
      });
      const [version, meta] = ["rbac.authorization.k8s.io/v1", { name: user, namespace: metadata.namespace }];
      const reference = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: user };
      const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }];
      return [
        { apiVersion: version, kind: "Role", metadata: meta, rules: rules.filter(({ verbs }) => verbs.length > 0) },
        { apiVersion: version, kind: "RoleBinding", metadata: meta, roleRef: reference, subjects },
      ];
    });
  }

  /** Whether the authorizer allows the user's request. */
  async function isAllowed(user: string, { verb, group, resource, namespace, name }: AuditedRequest): Promise<boolean> {
    const [kind = "", subresource = ""] = resource.split("/");
    const resourceAttributes = { verb, group, resource: kind, subresource, namespace, name };
    const body = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user, resourceAttributes },
    };
    const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    const answer = await api.call({ method: "POST", path, body }, never);
    return (answer as { status: { allowed: boolean } }).status.allowed;
  }

  it("suffice for every program", async (context) => {
    await here(context);
    expect(made.length).toBeGreaterThan(EACH.length);
    expect(made.filter(({ status }) => status === 403)).toEqual([]);
  });

  it("are exactly those of this table, without a wildcard or cluster role, and name their objects where possible", async (context) => {
    await here(context);
    expect(roles.filter(({ kind }) => kind !== "Role")).toEqual([]);
    const given = bindings.flatMap(({ metadata, roleRef, subjects }) => {
      const role = roles.find(
        (one) => one.metadata.name === roleRef.name && one.metadata.namespace === metadata.namespace,
      );
      const rights = (role?.rules ?? []).flatMap(({ resources, verbs }) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource} in ${metadata.namespace}`)),
      );
      return subjects.flatMap(({ name }) => rights.map((right) => `${name}: ${right}`));
    });
    const wanted = EACH.map(
      ([account, verb, resource, namespace]) => `${account}: ${verb} ${resource} in ${namespace}`,
    );
    expect([...given].sort()).toEqual([...wanted].sort());
    const unnamed = roles.flatMap(({ metadata, rules }) =>
      rules
        .filter((rule) => rule.resourceNames === undefined && metadata.namespace !== AGENTS)
        .flatMap(({ verbs }) => verbs),
    );
    expect([...new Set(unnamed)].sort()).toEqual(["create", "list"]);
  });

  it.for(EACH)("are all needed: %s does not work without %s %s in %s", async (right, context) => {
    await here(context);
    const request = made.find(isFor(right));
    if (request === undefined) throw new Error("no program ever asks for it");
    const user = `lacks-${EACH.indexOf(right)}`;
    await until("the roles in force", 30_000, async () => {
      const others = made.filter(
        (one) => one.user === request.user && one.namespace === request.namespace && !isFor(right)(one),
      );
      return others[0] === undefined || (await isAllowed(user, others[0])) || undefined;
    });
    expect(await isAllowed(request.user, request)).toBe(true);
    expect(await isAllowed(user, request)).toBe(false);
  });
});

/**
 * Makes two replicas do everything that replicas do: start the same sessions at the same time, stop one, repair damaged
 * Secrets, and change to another CA.
 */
async function useController(town: ControllerCluster, cluster: TestCluster): Promise<void> {
  const account = `system:serviceaccount:${SYSTEM}:gastown`;
  const replicas = [await town.replica(account), await town.replica(account)];
  const ids = Array.from({ length: 8 }, (_, i) => `s${i}`);
  const starts = replicas.flatMap(({ client }) =>
    ids.map((sessionId) =>
      client.startSession({ projectId: "shop", sessionId, provider: "demo", repoPath: "/workspace" }),
    ),
  );
  await Promise.all(starts);
  await replicas[1]?.client.stopSession({ sessionId: "s0" });
  const kubectl = (...args: string[]) => cluster.kubectl(["-n", AGENTS ?? "", ...args]);
  const secrets = async () =>
    (await kubectl("get", "secrets", "-o", "name"))
      .split("\n")
      .filter((name) => name !== "" && !name.endsWith("-token"));
  const names = await secrets();
  const [first = "", second = ""] = names.length > 7 ? names.slice(-2) : names;
  const before = await versionOf(cluster, second);
  await kubectl("patch", first, "--type=merge", "-p", '{"metadata":{"ownerReferences":null}}');
  await kubectl("patch", second, "--type=merge", "-p", '{"data":{"tls.key":null}}');
  const repaired = async () => ((await versionOf(cluster, second)) === before ? undefined : true);
  await untilInCluster("a repaired Secret", 60_000, repaired, replicas[0]?.log);
  const owner = async () =>
    (await kubectl("get", first, "-o", "jsonpath={.metadata.ownerReferences[0].uid}").catch(() => "")) || undefined;
  await untilInCluster("a Secret with an owner", 60_000, owner, replicas[0]?.log);
  await town.command("rotate-ca");
  const phase = async () => JSON.parse((await town.caSecret())["rotation.json"] ?? "{}").type as string;
  await untilInCluster(
    "the new CA to sign",
    60_000,
    async () => (await phase()) !== "introducing" || undefined,
    () => replicas.map(({ log }) => log()).join(""),
  );
  for (const replica of replicas) await replica.kill("SIGTERM");
}

async function setUp(town: ControllerCluster): Promise<void> {
  await town.command("init-ca", `system:serviceaccount:${SYSTEM}:gastown-setup`, ["--client", "admin"]);
}

async function versionOf(cluster: TestCluster, secret: string): Promise<string> {
  return await cluster.kubectl(["-n", AGENTS ?? "", "get", secret, "-o", "jsonpath={.data.tls\\.key}"]);
}

/**
 * Runs the setup Job's command without a CA and with damaged Secrets, then the first command of `helm uninstall`.
 */
async function setUpAndUninstall(town: ControllerCluster, cluster: TestCluster): Promise<void> {
  await cluster.kubectl(["-n", CA ?? "", "delete", "secret", "gastown-ca"]);
  await setUp(town);
  for (const [secret, key] of [
    ["gastown-client-admin", "tls.crt"],
    ["gastown-issuers", "admin.pub"],
    ["gastown-relay-tls", "tls.crt"],
  ]) {
    const patch = JSON.stringify({ data: { [key ?? ""]: Buffer.from("x").toString("base64") } });
    await cluster.kubectl(["-n", SYSTEM ?? "", "patch", "secret", secret ?? "", "--type=merge", "-p", patch]);
  }
  await setUp(town);
  await town.command("uninstall", `system:serviceaccount:${SYSTEM}:gastown-uninstall`, ["--hook", "--timeout", "60s"]);
}
