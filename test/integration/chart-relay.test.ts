import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { type RelayValues, relayFile } from "../../cmd/relay/schema.ts";
import { readConfigText } from "../../internal/config/config-file.ts";
import { RelayMetrics } from "../../internal/relay/lanes/relay-metrics.ts";
import { Metrics } from "../../internal/rpc/server/metrics.ts";
import { CHART, configIn, HelmBed, type Manifest, manifestsOf } from "../support/cluster/helm.ts";

const VALUES = join(CHART, "ci", "relay-values.yaml");
const PUBLIC_KEY =
  "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----";
const LEAST = { enabled: true, nats: { url: "nats://nats:4222" }, tls: { secretName: "relay-tls" } };

describe("the chart's relay", () => {
  const bed = new HelmBed("chart-relay");

  /** Renders the chart with these values of `relay`. */
  async function rendered(context: TestContext, name: string, relay: object): Promise<readonly Manifest[]> {
    const tool = await bed.here(context);
    const file = join(bed.dir, `${name}.json`);
    await writeFile(file, JSON.stringify({ relay }));
    return relayOf(await tool.template("gastown", "-f", file));
  }

  it("is absent by default", async (context) => {
    expect(relayOf(await (await bed.here(context)).template("gastown"))).toEqual([]);
  });

  it("passes helm lint with its values", async (context) => {
    const said = await (await bed.here(context)).run("lint", CHART, "--strict", "-f", VALUES);
    expect(said).toContain("0 chart(s) failed");
  });

  it("writes a configuration that the relay reads, with all its values", async (context) => {
    const values = configOf(relayOf(await (await bed.here(context)).template("gastown", "-f", VALUES)));
    expect(values).toMatchObject({
      listen: { host: "0.0.0.0", port: 8080 },
      health_listen: { host: "0.0.0.0", port: 8081 },
      nats: {
        ...{ url: "tls://nats.nats.svc:4333", replicas: 3, stream_prefix: "TOWN", inbox_prefix: "_INBOX_relay" },
        ...{ nkey: "/etc/relay/nats/nkey", tls_dir: "/etc/relay/nats-tls" },
      },
      tls: { dir: "/etc/relay/tls" },
      auth: { jwt_public_keys: [{ issuer: "town", key_path: "/etc/relay/issuers/town.pub", sessions: ["sess_*"] }] },
      signing: { name: "town", seed_file: "/etc/relay/signing/seed", signers: { coordinator: expect.any(String) } },
      connections: { max_message_bytes: 900_000 },
      turns: { drain_timeout: 60_000, permission: "deny" },
      ...{ dialects: { acp_v2: true }, agents_protocol: true },
      roles: { coding: { link: "bridge", bridge: "town" }, review: { max_tokens: 9_000_000 } },
      bridges: { town: { target: "gastown:9445", tls_dir: "/etc/relay/bridges/town", jwt_issuer: "admin" } },
    });
  });

  it("mounts every file of its configuration from a Secret or a map of public keys", async (context) => {
    const manifests = relayOf(await (await bed.here(context)).template("gastown", "-f", VALUES));
    const { containers, volumes } = podOf(manifests);
    const named = JSON.stringify(configOf(manifests)).match(/\/etc\/relay\/[^"]+/g) ?? [];
    const mounts = containers[0].volumeMounts.map(({ mountPath }) => mountPath);
    const missing = named.filter((path) => !mounts.some((mount) => `${path}/`.startsWith(`${mount}/`)));
    expect([named.length > 5, missing]).toEqual([true, []]);
    expect(volumes.flatMap(({ secret }) => secret?.secretName ?? []).sort()).toEqual([
      ...["gastown-client-admin", "nats-ca", "relay-nats", "relay-signing", "relay-tls"],
    ]);
  });

  it("gets its certificate from the setup Job unless a Secret is named, and accepts the first client's tokens", async (context) => {
    const relay = { enabled: true, nats: LEAST.nats, service: { names: ["relay.town.example"] } };
    const file = join(bed.dir, "own-tls.json");
    await writeFile(file, JSON.stringify({ relay }));
    const text = await (await bed.here(context)).template("gastown", "-f", file);
    const { volumes } = podOf(relayOf(text));
    const names = volumes.flatMap(({ secret, projected }) => [
      ...(secret ? [secret.secretName] : []),
      ...(projected?.sources ?? []).map((source) => source.secret.name),
    ]);
    expect(names).toEqual(["gastown-relay-tls", "gastown-issuers"]);
    expect(configOf(relayOf(text)).auth?.jwt_public_keys).toMatchObject([
      { issuer: "admin", key_path: "/etc/relay/issuers/admin.pub", projects: ["default"] },
    ]);
    const hosts = ["gastown-relay", "gastown-relay.gastown-system.svc", "127.0.0.1", "relay.town.example"];
    const content = { type: "server", hosts: expect.arrayContaining(hosts) };
    expect(configIn(text).settings.secrets).toContainEqual({
      ...{ name: "gastown-relay-tls", owner: "gastown-relay", content },
    });
  });

  it("sends spans if a collector is named", async (context) => {
    const tool = await bed.here(context);
    const monitoring = join(CHART, "ci", "monitoring-values.yaml");
    const tracingWith = async (...args: string[]) =>
      configOf(relayOf(await tool.template("gastown", "-f", VALUES, ...args))).tracing;
    expect(await tracingWith("-f", monitoring)).toEqual({ otlp_endpoint: "http://collector.monitoring:4318" });
    expect(await tracingWith()).toEqual({});
  });

  it("has a monitor that finds the Service of its metrics, and alerts on metrics that exist", async (context) => {
    const monitoring = join(CHART, "ci", "monitoring-values.yaml");
    const tool = await bed.here(context);
    const all = manifestsOf(
      await tool.template("gastown", "-f", monitoring, "-f", VALUES),
    ) as unknown as readonly Watched[];
    const monitor = all.find(({ kind, metadata }) => kind === "ServiceMonitor" && metadata.name === "gastown-relay");
    const wanted = monitor?.spec.selector.matchLabels ?? {};
    const found = all.filter(({ kind, metadata }) => kind === "Service" && matches(wanted, metadata.labels ?? {}));
    expect(found.map(({ metadata, spec }) => [metadata.name, spec.ports?.[0]])).toEqual([
      ["gastown-relay-metrics", { name: "health", port: 8081, targetPort: "health" }],
    ]);
    const rules = JSON.stringify(all.filter(({ kind }) => kind === "PrometheusRule"));
    const own = '{namespace=\\"gastown-system\\",job=\\"gastown-relay-metrics\\"}';
    const used = [...rules.matchAll(/\b(gastown_relay_[a-z_]+)([^ []*)/g)];
    const { registry } = new Metrics();
    new RelayMetrics(registry).observe({
      ...{ turnsOpen: () => 0, lanesHeld: () => 0, outboxMessages: () => 0, outboxBytes: () => 0 },
      natsConnected: () => true,
    });
    const known = (await registry.getMetricsAsJSON()).map(({ name }) => name);
    expect(used.length).toBeGreaterThan(3);
    expect(used.filter(([, name = ""]) => !known.includes(name))).toEqual([]);
    expect(used.filter(([, , labels = ""]) => !labels.startsWith(own))).toEqual([]);
  });

  it("runs without privileges, with a termination grace period longer than its drain", async (context) => {
    const manifests = await rendered(context, "least", LEAST);
    const pod = podOf(manifests);
    expect(pod).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } });
    expect(pod.containers[0]).toMatchObject({
      image: "gt-relay:0.1.0",
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      },
      livenessProbe: { httpGet: { path: "/livez", port: "health" } },
      readinessProbe: { httpGet: { path: "/readyz", port: "health" } },
    });
    const drainMs = configOf(manifests).turns.drain_timeout;
    expect(pod.terminationGracePeriodSeconds).toBe(drainMs / 1000 + 20);
    const slow = await rendered(context, "slow", { ...LEAST, turns: { drain_timeout: "1m30s" } });
    expect(podOf(slow).terminationGracePeriodSeconds).toBe(110);
  });

  it("has a disruption budget for two replicas, and none for one", async (context) => {
    const kinds = async (replicas: number) =>
      (await rendered(context, `replicas-${replicas}`, { ...LEAST, replicas })).map(({ kind }) => kind);
    expect(await kinds(2)).toContain("PodDisruptionBudget");
    expect(await kinds(1)).not.toContain("PodDisruptionBudget");
  });

  it("is reachable only by the callers in its values, and reaches NATS and its bridges", async (context) => {
    const all = manifestsOf(await (await bed.here(context)).template("gastown", "-f", VALUES));
    const policies = all.filter(({ kind }) => kind === "NetworkPolicy") as unknown as readonly Policy[];
    const labels = { "app.kubernetes.io/name": "gastown-relay", "app.kubernetes.io/instance": "gastown" };
    const [relay, ...others] = policies.filter(
      ({ metadata, spec }) => metadata.namespace === "gastown-system" && matches(spec.podSelector.matchLabels, labels),
    );
    expect(others).toEqual([]);
    expect(relay?.spec.ingress[0]).toEqual({
      ports: [{ protocol: "TCP", port: "relay" }],
      from: [{ namespaceSelector: { matchLabels: { agents: "true" } } }],
    });
    expect(relay?.spec.egress.flatMap(({ ports = [] }) => ports.map(({ port }) => port))).toEqual([53, 53, 4333, 9445]);
    const controller = policies.find(({ metadata }) => metadata.name === "gastown");
    expect(controller?.spec.ingress[0]?.from).toContainEqual({ podSelector: { matchLabels: labels } });
  });

  it.for([
    ["a missing server", { nats: { url: "" } }, /relay\.nats\.url: is missing/],
    ["a password in a URL", { nats: { url: "nats://u:p@nats:4222" } }, /url/],
    ["another protocol", { nats: { url: "http://nats:4222" } }, /url/],
    ["two copies of a stream", { nats: { url: "nats://n", replicas: 2 } }, /replicas/],
    ["an invalid name", { service: { names: ["10.0.0.256"] } }, /relay\.service\.names: "10\.0\.0\.256"/],
    [
      "another issuer with the first client's name",
      { tls: { secretName: "" }, auth: { issuers: [{ issuer: "admin", projects: ["a"], publicKey: PUBLIC_KEY }] } },
      /relay\.auth\.issuers: admin is listed twice/,
    ],
    ["a misspelt key", { replica: 2 }, /replica/],
    ["a missing bridge", { roles: { coding: { link: "bridge", bridge: "x" } } }, /needs the bridge "x"/],
    ["a bridge without its Secret", { bridges: { town: { target: "a:1", issuer: "a", project: "b" } } }, /secretName/],
    ["a role's name with a dot", { roles: { "a.b": {} } }, /a\.b/],
    ["a seed in place of a public nkey", { signing: { signers: { a: `S${"A".repeat(57)}` } } }, /signers/],
    ["a request above its limit", { resources: { requests: { memory: "2Gi" } } }, /relay\.resources: requests\.memory/],
  ] as const)("refuses %s and names the key", async ([name, relay, message], context) => {
    await expect(rendered(context, name.replaceAll(" ", "-"), { ...LEAST, ...relay })).rejects.toThrow(message);
  });

  it("requires a certificate when no Job creates one", async (context) => {
    const tool = await bed.here(context);
    const file = join(bed.dir, "no-certificate.json");
    await writeFile(file, JSON.stringify({ setup: { enabled: false }, relay: { enabled: true, nats: LEAST.nats } }));
    await expect(tool.template("gastown", "-f", file)).rejects.toThrow(/relay\.tls\.secretName: is missing/);
  });
});

interface Pod {
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly [{ readonly volumeMounts: readonly { readonly mountPath: string }[] }];
  readonly volumes: readonly {
    readonly secret?: { readonly secretName: string };
    readonly projected?: { readonly sources: readonly { readonly secret: { readonly name: string } }[] };
  }[];
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
    readonly egress: readonly { readonly ports?: readonly { readonly port: number }[] }[];
  };
}

function matches(selector: Readonly<Record<string, string>> = {}, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

const relayOf = (text: string) => manifestsOf(text).filter(({ metadata }) => metadata.name.startsWith("gastown-relay"));

function podOf(manifests: readonly Manifest[]): Pod {
  const deployment = manifests.find(({ kind }) => kind === "Deployment");
  return (deployment as unknown as { readonly spec: { readonly template: { readonly spec: Pod } } }).spec.template.spec;
}

/** The relay's configuration, parsed from the text alone. */
function configOf(manifests: readonly Manifest[]): RelayValues {
  const text = manifests.find(({ data }) => data?.["relay.yaml"] !== undefined)?.data?.["relay.yaml"] ?? "";
  const { value, findings } = readConfigText(text, relayFile, { file: "relay.yaml", folder: "/etc/relay" });
  findings.assertUsable();
  return value;
}
