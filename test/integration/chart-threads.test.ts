import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { type ThreadsValues, threadsFile } from "../../cmd/threads/schema.ts";
import { readConfigText } from "../../internal/config/config-file.ts";
import { Metrics } from "../../internal/rpc/server/metrics.ts";
import { ThreadsMetrics } from "../../internal/threads/api/threads-metrics.ts";
import { CHART, configIn, HelmBed, type Manifest, manifestsOf } from "../support/cluster/helm.ts";

const VALUES = join(CHART, "ci", "threads-values.yaml");
const PUBLIC_KEY =
  "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----";
const LEAST = { enabled: true, database: { secretName: "db" } };

describe("the chart's threads", () => {
  const bed = new HelmBed("chart-threads");

  async function text(context: TestContext, name: string, values: object): Promise<string> {
    const tool = await bed.here(context);
    const file = join(bed.dir, `${name}.json`);
    await writeFile(file, JSON.stringify(values));
    return await tool.template("gastown", "-f", file);
  }
  /** Renders the chart with these values of `threads`. */
  const rendered = async (context: TestContext, name: string, threads: object) =>
    threadsOf(await text(context, name, { threads }));
  const withAll = async (context: TestContext) => await (await bed.here(context)).template("gastown", "-f", VALUES);

  it("are absent by default, and agents then get no tools", async (context) => {
    const plain = await (await bed.here(context)).template("gastown");
    expect(threadsOf(plain)).toEqual([]);
    const { threads, sessionTokens } = configIn(plain).settings;
    expect([threads, sessionTokens]).toEqual([undefined, undefined]);
  });

  it("pass helm lint with their values", async (context) => {
    const said = await (await bed.here(context)).run("lint", CHART, "--strict", "-f", VALUES);
    expect(said).toContain("0 chart(s) failed");
  });

  it("write a configuration that threads reads, with all their values", async (context) => {
    const values = configOf(threadsOf(await withAll(context)));
    expect(values).toMatchObject({
      server: { listen: { host: "0.0.0.0", port: 9448 }, health_listen: { host: "0.0.0.0", port: 9449 } },
      tls: { dir: "/etc/threads/tls" },
      database: { url_file: "/etc/threads/database/url", pool_max: 20 },
      auth: {
        jwt_audience: "threads",
        jwt_public_keys: [
          { issuer: "gastown", kind: "agent", workspaces: ["shop", "desk"], roles: ["worker", "reviewer", "fixer"] },
          { issuer: "admin", kind: "person", workspaces: ["shop"] },
          { issuer: "town", kind: "person", workspaces: ["shop", "desk"], roles: ["*"] },
        ],
      },
      runtime: { kind: "bridge", bridge_url: "gastown.gastown-system.svc:443", jwt_issuer: "threads" },
      policy: { turns: 40, quiet: 10_000, retention_days: 90 },
      logging: { level: "warn" },
    });
  });

  it("mount every file of the configuration, and no private key of others", async (context) => {
    const manifests = threadsOf(await withAll(context));
    const { containers, volumes } = podOf(manifests);
    const named = JSON.stringify(configOf(manifests)).match(/\/etc\/threads\/[^"]+/g) ?? [];
    const mounts = containers[0].volumeMounts.map(({ mountPath }) => mountPath);
    const missing = named.filter((path) => !mounts.some((mount) => `${path}/`.startsWith(`${mount}/`)));
    expect([named.length > 5, missing]).toEqual([true, []]);
    const secrets = volumes.flatMap(({ secret, projected }) => [
      ...(secret ? [secret] : []),
      ...(projected?.sources ?? []).flatMap((one) => one.secret ?? []),
    ]);
    const keys = secrets.map(({ secretName, name, items }) => [secretName ?? name, items?.map(({ key }) => key)]);
    expect(keys).toEqual([
      ["gastown-threads-tls", undefined],
      ["threads-database", ["pooled"]],
      ["gastown-session-tokens", ["signing.pub"]],
      ["gastown-issuers", ["admin.pub"]],
      ["gastown-client-threads", undefined],
    ]);
  });

  it("configure the controllers to give agents the tools, accept the servers' calls, and keep their certificates", async (context) => {
    const all = await withAll(context);
    const { settings, auth } = configIn(all);
    expect(settings.threads).toEqual({ url: "https://gastown-threads.gastown-system.svc:443" });
    expect(settings.sessionTokens).toMatchObject({
      keyPath: "/etc/gastown/session-tokens/signing.key",
      issuer: "gastown",
    });
    expect(auth?.jwt_public_keys).toContainEqual(
      expect.objectContaining({ issuer: "threads", projects: ["shop", "desk"] }),
    );
    const owner = "gastown-threads";
    expect(settings.secrets.slice(1)).toEqual([
      {
        ...{ name: "gastown-threads-tls", owner },
        content: {
          type: "server",
          hosts: expect.arrayContaining(["gastown-threads.gastown-system.svc", "threads.town.example"]),
        },
      },
      { name: "gastown-client-threads", owner, content: { type: "client", client: "threads" } },
      { name: "gastown-session-tokens", owner, content: { type: "token-key" } },
    ]);
    const controller = podOf(manifestsOf(all).filter(({ metadata }) => metadata.name === "gastown"));
    const issuers = controller.volumes.find(({ name }) => name === "issuers")?.projected?.sources[0];
    expect(issuers?.secret?.items?.map(({ key }) => key)).toEqual(["admin.pub", "threads.pub"]);
  });

  it("accept the user's own Secrets in place of the setup Job's, and give the user's CA to agents", async (context) => {
    const threads = { ...LEAST, tls: { secretName: "own-tls" }, client: { secretName: "own-client", issuer: "waker" } };
    const all = await text(context, "own", { threads, sessionTokens: { secretName: "own-tokens" } });
    const { settings } = configIn(all);
    expect(settings.threads?.caPath).toBe("/etc/gastown/threads/ca.crt");
    expect(settings.secrets.map(({ name }) => name)).toEqual(["gastown-client-admin"]);
    expect(JSON.stringify(podOf(threadsOf(all)).volumes)).toMatch(/own-tls.*own-tokens.*own-client/);
    expect(configOf(threadsOf(all)).runtime.jwt_issuer).toBe("waker");
  });

  it("migrate the database in a hook that does not depend on the release", async (context) => {
    const [job] = threadsOf(await withAll(context)).filter(({ kind }) => kind === "Job") as unknown as readonly Hook[];
    expect(job?.metadata.annotations["helm.sh/hook"]).toBe("pre-install,pre-upgrade");
    const { volumes, containers, serviceAccountName } =
      job?.spec.template.spec ?? ({} as Hook["spec"]["template"]["spec"]);
    expect([volumes?.map(({ name }) => name), serviceAccountName]).toEqual([["tmp"], undefined]);
    expect(containers?.[0]).toMatchObject({ command: ["threads", "migrate"] });
    const refs = containers?.[0].env.flatMap(({ name, valueFrom }) =>
      valueFrom ? [[name, valueFrom.secretKeyRef.key]] : [],
    );
    expect(refs).toEqual([
      ["GT_THREADS_DATABASE_URL", "pooled"],
      ["GT_THREADS_MIGRATE_URL", "direct"],
    ]);
  });

  it("have a monitor that finds their metrics' Service, and alerts", async (context) => {
    const tool = await bed.here(context);
    const monitoring = join(CHART, "ci", "monitoring-values.yaml");
    const all = manifestsOf(
      await tool.template("gastown", "-f", monitoring, "-f", VALUES),
    ) as unknown as readonly Watched[];
    const monitor = all.find(({ kind, metadata }) => kind === "ServiceMonitor" && metadata.name === "gastown-threads");
    const wanted = monitor?.spec.selector.matchLabels ?? {};
    const found = all.filter(({ kind, metadata }) => kind === "Service" && matches(wanted, metadata.labels ?? {}));
    expect(found.map(({ metadata, spec }) => [metadata.name, spec.ports?.[0]])).toEqual([
      ["gastown-threads-metrics", { name: "health", port: 9449, targetPort: "health" }],
    ]);
    const rules = JSON.stringify(all.filter(({ kind }) => kind === "PrometheusRule"));
    const used = [...rules.matchAll(/\b(gt_threads_[a-z_]+)(\{[^}]*\})/g)];
    const { registry } = new Metrics();
    new ThreadsMetrics(registry, { hears: () => true, open: async () => ({ wakes: 0, escalations: 0, unread: 0 }) });
    const known = (await registry.getMetricsAsJSON()).map(({ name }) => name);
    expect(used.length).toBeGreaterThan(7);
    expect(used.filter(([, name = ""]) => !known.includes(name))).toEqual([]);
    const own = '{namespace=\\"gastown-system\\",job=\\"gastown-threads-metrics\\"';
    expect(used.filter(([, , labels = ""]) => !labels.startsWith(own))).toEqual([]);
  });

  it("run without rights on a read-only root, and have a disruption budget for two replicas", async (context) => {
    const manifests = await rendered(context, "least", LEAST);
    const pod = podOf(manifests);
    expect(pod).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } });
    const [migration] = manifests.filter(({ kind }) => kind === "Job") as unknown as readonly Hook[];
    expect(migration?.spec.template.spec).toMatchObject({ automountServiceAccountToken: false });
    for (const container of [pod.containers[0], migration?.spec.template.spec.containers[0]]) {
      expect(container).toMatchObject({
        image: "gt-controller:0.1.0",
        securityContext: {
          ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
          capabilities: { drop: ["ALL"] },
        },
      });
    }
    expect(pod.containers[0]).toMatchObject({
      livenessProbe: { httpGet: { path: "/livez", port: "health" } },
      readinessProbe: { httpGet: { path: "/readyz", port: "health" } },
    });
    expect(manifests.map(({ kind }) => kind)).toContain("PodDisruptionBudget");
    const one = await rendered(context, "one", { ...LEAST, replicas: 1 });
    expect(one.map(({ kind }) => kind)).not.toContain("PodDisruptionBudget");
  });

  it("are reachable only by agents and the callers in their values, and reach the database and the controllers", async (context) => {
    const all = manifestsOf(await withAll(context));
    const policies = all.filter(({ kind }) => kind === "NetworkPolicy") as unknown as readonly Policy[];
    const labels = {
      "app.kubernetes.io/name": "gastown-threads",
      "app.kubernetes.io/instance": "gastown",
      "app.kubernetes.io/component": "threads",
    };
    const [own, ...others] = policies.filter(
      ({ metadata, spec }) => metadata.namespace === "gastown-system" && matches(spec.podSelector.matchLabels, labels),
    );
    expect(others).toEqual([]);
    expect(own?.spec.ingress[0]?.from?.map((one) => JSON.stringify(one))).toEqual([
      expect.stringContaining('"people":"true"'),
      expect.stringContaining("shop-agents"),
      expect.stringContaining("desk-agents"),
    ]);
    const ports = own?.spec.egress.flatMap(({ ports: some = [] }) => some.map(({ port }) => port));
    expect(ports).toEqual([53, 53, 6432, 5432, 9445]);
    const controller = policies.find(({ metadata }) => metadata.name === "gastown");
    expect(controller?.spec.ingress[0]?.from).toContainEqual({ podSelector: { matchLabels: labels } });
    for (const namespace of ["shop-agents", "desk-agents"]) {
      const agents = policies.find(
        ({ metadata }) => metadata.name === "gastown-agents" && metadata.namespace === namespace,
      );
      const rule = agents?.spec.egress.find(({ ports: some = [] }) => some.some(({ port }) => port === 9448));
      expect(rule?.to?.[0]).toMatchObject({ podSelector: { matchLabels: labels } });
    }
  });

  it.for([
    ["no database", { database: { secretName: "" } }, /threads\.database\.secretName: is missing/],
    ["an invalid port", { database: { secretName: "db", ports: [0] } }, /ports/],
    ["an invalid name", { service: { names: ["10.0.0.256"] } }, /threads\.service\.names: "10\.0\.0\.256"/],
    [
      "the first client's name for its own",
      { client: { issuer: "admin" } },
      /threads\.client\.issuer: admin is another/,
    ],
    [
      "the agents' issuer for people",
      { auth: { issuers: [{ issuer: "gastown", kind: "person", workspaces: ["a"], publicKey: PUBLIC_KEY }] } },
      /threads\.auth\.issuers: gastown is listed twice/,
    ],
    ["a misspelt key", { replica: 2 }, /replica/],
    [
      "a request above its limit",
      { resources: { requests: { memory: "2Gi" } } },
      /threads\.resources: requests\.memory/,
    ],
  ] as const)("refuse %s and name the key", async ([name, threads, message], context) => {
    await expect(rendered(context, name.replaceAll(" ", "-"), { ...LEAST, ...threads })).rejects.toThrow(message);
  });

  it.for([
    ["a certificate", {}, /threads\.tls\.secretName: is missing/],
    ["a caller", { tls: { secretName: "a" } }, /threads\.client\.secretName: is missing/],
    [
      "a key of tokens",
      { tls: { secretName: "a" }, client: { secretName: "b" } },
      /sessionTokens\.secretName: is missing/,
    ],
  ] as const)("require %s when no Job creates it", async ([, threads, message], context) => {
    const values = { setup: { enabled: false }, threads: { ...LEAST, ...threads } };
    await expect(text(context, "no-setup", values)).rejects.toThrow(message);
  });
});

interface KeyedSecret {
  readonly secretName?: string;
  readonly name?: string;
  readonly items?: readonly { readonly key: string }[];
}

interface Pod {
  readonly containers: readonly [{ readonly volumeMounts: readonly { readonly mountPath: string }[] }];
  readonly volumes: readonly {
    readonly name: string;
    readonly secret?: KeyedSecret;
    readonly projected?: { readonly sources: readonly { readonly secret?: KeyedSecret }[] };
  }[];
}

interface Hook {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly serviceAccountName?: string;
        readonly volumes: readonly { readonly name: string }[];
        readonly containers: readonly [
          {
            readonly env: readonly {
              readonly name: string;
              readonly valueFrom?: { readonly secretKeyRef: { readonly key: string } };
            }[];
          },
        ];
      };
    };
  };
}

/** A monitor or a Service. */
interface Watched {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly selector: { readonly matchLabels?: Readonly<Record<string, string>> };
    readonly ports?: readonly object[];
  };
}

interface Policy {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: {
    readonly podSelector: { readonly matchLabels?: Readonly<Record<string, string>> };
    readonly ingress: readonly { readonly from?: readonly object[] }[];
    readonly egress: readonly {
      readonly ports?: readonly { readonly port: number }[];
      readonly to?: readonly object[];
    }[];
  };
}

function matches(selector: Readonly<Record<string, string>> = {}, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

const threadsOf = (text: string) =>
  manifestsOf(text).filter(({ metadata }) => metadata.name.startsWith("gastown-threads"));

function podOf(manifests: readonly Manifest[]): Pod {
  const deployment = manifests.find(({ kind }) => kind === "Deployment");
  return (deployment as unknown as { readonly spec: { readonly template: { readonly spec: Pod } } }).spec.template.spec;
}

/** The servers' configuration, parsed from the text alone. */
function configOf(manifests: readonly Manifest[]): ThreadsValues {
  const text = manifests.find(({ data }) => data?.["threads.yaml"] !== undefined)?.data?.["threads.yaml"] ?? "";
  const { value, findings } = readConfigText(text, threadsFile, { file: "threads.yaml", folder: "/etc/threads" });
  findings.assertUsable();
  return value;
}
