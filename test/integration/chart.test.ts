import { generateKeyPairSync } from "node:crypto";
import { cp, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TlsMetrics } from "../../internal/auth/tls/tls-metrics.ts";
import { ControllerMetrics } from "../../internal/controller/sessions/controller-metrics.ts";
import { Metrics } from "../../internal/rpc/server/metrics.ts";
import { SidecarMetrics } from "../../internal/sidecar/serving/sidecar-metrics.ts";
import { CHART, configIn, HelmBed, manifestsOf } from "../support/cluster/helm.ts";

interface PodSpec {
  readonly containers: readonly { readonly resources: object }[];
}

/** The pod specs of a Pod, or of an object that creates pods. */
function podSpecOf(manifest: object): readonly PodSpec[] {
  const { kind, spec } = manifest as {
    kind: string;
    spec: PodSpec & { readonly template: { readonly spec: PodSpec } };
  };
  if (kind === "Pod") return [spec];
  return kind === "Job" || kind === "Deployment" ? [spec.template.spec] : [];
}

interface Probed {
  readonly livenessProbe: Readonly<Record<"timeoutSeconds" | "periodSeconds" | "failureThreshold", number>>;
}

const SPKI = { format: "pem", type: "spki" } as const;
const ED25519 = generateKeyPairSync("ed25519").publicKey.export(SPKI).toString();
const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export(SPKI).toString();
const EC = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export(SPKI).toString();
const issuer = (publicKey: string, ...projects: string[]) => ({
  auth: { issuers: [{ issuer: "a", projects, publicKey }] },
});
const adopting = (...adoptAccounts: string[]) => ({ namespaces: [{ name: "a", project: "b", adoptAccounts }] });
const needing = (resources: object) => ({ agents: { claude: { image: "a", resources } } });

describe("the chart", () => {
  const bed = new HelmBed("chart");

  it("can be switched off by a parent chart", async (context) => {
    const tool = await bed.here(context);
    const parent = join(bed.dir, "parent");
    await mkdir(join(parent, "charts"), { recursive: true });
    await cp(CHART, join(parent, "charts", "gastown"), { recursive: true });
    const dependency = { name: "gastown", version: "0.1.0", condition: "gastown.enabled" };
    const chart = { apiVersion: "v2", name: "parent", version: "1.0.0", dependencies: [dependency] };
    await writeFile(join(parent, "Chart.yaml"), JSON.stringify(chart));
    await writeFile(join(parent, "values.yaml"), JSON.stringify({ global: { a: 1 }, gastown: { enabled: true } }));
    const kindsOf = async (...args: string[]) => {
      const place = ["-n", "gastown-system", "--kube-version", "v1.35.0"];
      return manifestsOf(await tool.run("template", "town", parent, ...place, ...args)).map(({ kind }) => kind);
    };
    expect(await kindsOf()).toContain("Deployment");
    expect(await kindsOf("--set", "gastown.enabled=false")).toEqual([]);
  });

  it("accepts requests at their limits, several keys per issuer, and accounts of any kind", async (context) => {
    const tool = await bed.here(context);
    const resources = {
      requests: { cpu: 0.3, memory: "2Gi", "ephemeral-storage": 1_000_000 },
      limits: { cpu: "300m", memory: "2048Mi", "ephemeral-storage": "1M" },
    };
    const accounts = ["system:serviceaccount:ci:deployer", "jane@example.org", "system:node:a"];
    const values = {
      ...issuer(`# A and B\n${ED25519}${ED25519}`, "b"),
      ...adopting(...accounts),
      ...needing(resources),
    };
    const file = join(bed.dir, "taken.json");
    await writeFile(file, JSON.stringify(values));
    const { settings } = configIn(await tool.template("gastown", "-f", file));
    expect(settings.namespaces[0]?.adoption?.accounts).toEqual(accounts);
  });

  it("passes helm lint", async (context) => {
    expect(await (await bed.here(context)).run("lint", CHART, "--strict")).toContain("0 chart(s) failed");
  });

  it("writes a configuration that the controller reads, for each file of ci/", async (context) => {
    const tool = await bed.here(context);
    for (const file of await readdir(join(CHART, "ci"))) {
      const { settings } = configIn(await tool.template("gastown", "-f", join(CHART, "ci", file)));
      expect([file, settings.namespaces.length]).toEqual([file, expect.any(Number)]);
    }
  });

  it("gives agents tokens if a Secret with a key is named, and mounts it for the controller", async (context) => {
    const rendered = await (await bed.here(context)).template(
      ...["gastown", "-f", join(CHART, "ci", "containers-values.yaml")],
    );
    const keyPath = "/etc/gastown/session-tokens/signing.key";
    expect(configIn(rendered).settings.sessionTokens).toEqual({
      ...{ keyPath, issuer: "gastown", audience: "threads", role: "worker", roles: ["reviewer"], ttlMs: 1_800_000 },
    });
    expect(rendered).toContain("secretName: agent-tokens");
    expect(configIn(await (await bed.here(context)).template("gastown")).settings.sessionTokens).toBeUndefined();
  });

  it("sends spans if a collector is named", async (context) => {
    const tool = await bed.here(context);
    const endpointOf = async (...args: string[]) => configIn(await tool.template("gastown", ...args)).otlpEndpoint;
    expect(await endpointOf("-f", join(CHART, "ci", "monitoring-values.yaml"))).toBe(
      "http://collector.monitoring:4318",
    );
    expect(await endpointOf()).toBeUndefined();
  });

  it("creates the pods that its values describe", async (context) => {
    const { settings } = configIn(
      await (await bed.here(context)).template("gastown", "-f", join(CHART, "ci", "ha-values.yaml")),
    );
    expect(settings.namespaces.map(({ name, project, adoption }) => [name, project, adoption?.accounts])).toEqual([
      ["shop-agents", "shop", undefined],
      ["desk-agents", "desk", ["system:serviceaccount:ci:deployer"]],
    ]);
    expect(settings.namespaces[0]?.templates.get("claude")).toMatchObject({
      image: "registry.example/gt-sidecar-claude:0.1.0",
      env: { DISABLE_TELEMETRY: "1" },
      envFrom: [
        { type: "secret", name: "anthropic-api-key", optional: false },
        { type: "config-map", name: "settings", optional: true },
      ],
      workspace: { type: "git", url: "https://git.example/shop.git", depth: 0, path: "/workspace/shop" },
      graceMs: 60_000,
      placement: { serviceAccountName: "gastown-agent", runtimeClassName: "gvisor" },
    });
    expect(settings.namespaces[1]?.templates.get("any")).toMatchObject({ user: undefined, command: ["bash", "-i"] });
  });

  it("uses only metrics of controllers and sidecars in its alerts", async (context) => {
    const text = await (await bed.here(context)).template("gastown", "-f", join(CHART, "ci", "monitoring-values.yaml"));
    const rules = manifestsOf(text).find(({ kind }) => kind === "PrometheusRule");
    const used = new Set(JSON.stringify(rules).match(/\bgastown_[a-z_]+/g));
    const { registry } = new Metrics();
    const numbers = new ControllerMetrics(registry);
    numbers.clock(() => 0);
    numbers.observe({
      sessions: () => [],
      leads: () => true,
      queueDepth: () => 0,
      rotation: () => undefined,
      earliestEnd: () => undefined,
      watches: () => ({ pods: [], secrets: [] }),
      staleMs: () => 0,
    });
    new TlsMetrics(registry).observe(() => undefined);
    new SidecarMetrics(registry);
    const known = (await registry.getMetricsAsJSON()).map(({ name }) => name);
    expect(used.size).toBeGreaterThan(8);
    // Another release may have a leader and answer while this one does not.
    const own = '{namespace=\\"gastown-system\\",job=\\"gastown-metrics\\"}';
    for (const metric of ["up", "gastown_controller_leader"])
      expect(JSON.stringify(rules)).toContain(`(${metric}${own}`);
    expect([...used].filter((name) => !known.includes(name))).toEqual([]);
  });

  it("sets the resources of its values on all its pods, as a quota may require", async (context) => {
    const limits = { cpu: "1", memory: "2Gi", "ephemeral-storage": "1Gi" };
    const set = ["--set-json", `resources=${JSON.stringify({ limits })}`];
    const requests = { cpu: "100m", memory: "256Mi", "ephemeral-storage": "64Mi" };
    const specs = manifestsOf(await (await bed.here(context)).template("gastown", ...set)).flatMap(podSpecOf);
    expect(specs.map(({ containers }) => containers.map(({ resources }) => resources))).toEqual(
      Array.from({ length: 4 }, () => [{ limits, requests }]),
    );
  });

  it("has probes that tolerate a stalled event loop of a replica", async (context) => {
    const tool = await bed.here(context);
    const deployment = manifestsOf(await tool.template("gastown")).find(({ kind }) => kind === "Deployment");
    const { spec } = deployment as unknown as { spec: { template: { spec: { containers: readonly [Probed] } } } };
    const { timeoutSeconds, periodSeconds, failureThreshold } = spec.template.spec.containers[0].livenessProbe;
    expect(timeoutSeconds).toBeGreaterThan(5);
    expect(periodSeconds * failureThreshold).toBeGreaterThanOrEqual(60);
  });

  it("labels the controllers as clients of sidecars", async (context) => {
    const tool = await bed.here(context);
    const deployment = manifestsOf(await tool.template("gastown")).find(({ kind }) => kind === "Deployment");
    expect(deployment).toMatchObject({
      spec: { template: { metadata: { labels: { "gastown.io/client": "true" } } } },
    });
  });

  it("admits its helm test when networkPolicy.controller.from limits callers", async (context) => {
    const text = await (await bed.here(context)).template("gastown", "-f", join(CHART, "ci", "ha-values.yaml"));
    const policy = manifestsOf(text).find((one) => one.kind === "NetworkPolicy" && one.metadata.name === "gastown");
    const { spec } = policy as unknown as { spec: { podSelector: object; ingress: readonly [{ from: object[] }] } };
    const callers = { namespaceSelector: { matchLabels: { clients: "true" } } };
    expect(spec.ingress[0].from).toEqual([callers, { podSelector: spec.podSelector }]);
  });

  it("renders the same text each time, without generated values", async (context) => {
    const tool = await bed.here(context);
    expect(await tool.template("gastown")).toBe(await tool.template("gastown"));
  });

  it("uninstalls a release in a hook that runs the command with --hook", async (context) => {
    const rendered = manifestsOf(await (await bed.here(context)).template("gastown"));
    const uninstall = rendered.find(({ kind, metadata }) => kind === "Job" && metadata.name === "gastown-uninstall");
    expect(JSON.stringify(uninstall)).toContain('"uninstall","--hook","--config"');
  });

  it("never changes an existing Job, for users who apply the rendered text", async (context) => {
    const tool = await bed.here(context);
    const jobOf = async (...args: string[]) => {
      const rendered = manifestsOf(await tool.template("gastown", "--no-hooks", ...args));
      return rendered.find(({ kind }) => kind === "Job")?.metadata.name;
    };
    const name = await jobOf();
    expect(name).toMatch(/^gastown-setup-1-[0-9a-f]{8}$/);
    expect(await tool.template("gastown")).toContain(`name: ${name}\n`);
    const changes = ["image.tag=next", "trustDomain=town.example", "commonLabels.part=agents", "runAsUser=20001"];
    const names = await Promise.all(changes.map((change) => jobOf("--set", change)));
    expect(new Set([name, ...names]).size).toBe(changes.length + 1);
  });

  it.for([
    ["a misspelt key", { replica: 3 }, /replica/],
    ["a misspelt key of an agent", { agents: { claude: { image: "a", envFron: [] } } }, /envFron/],
    ["an agent without an image", { agents: { claude: {} } }, /image/],
    ["an agent with a name in capitals", { agents: { Claude: { image: "a" } } }, /'\/agents': .*'Claude'/],
    [
      "an option that every agent has",
      { agents: { claude: { image: "a", options: { mode: { env: "A" } } } } },
      /'\/agents\/claude\/options\/mode'/,
    ],
    ["a text for a number", { replicas: "three" }, /replicas/],
    ["no replica", { replicas: 0 }, /replicas/],
    ["no namespace", { namespaces: [] }, /namespaces/],
    ["a namespace without a project", { namespaces: [{ name: "a" }] }, /project/],
    ["a trust domain with a scheme", { trustDomain: "spiffe://a" }, /trustDomain/],
    ["another isolation", { agents: { claude: { image: "a", isolation: "none" } } }, /isolation/],
    [
      "the sidecar's own settings as environment",
      { agents: { claude: { image: "a", env: { GT_SIDECAR_INSECURE: "1" } } } },
      /'\/agents\/claude\/env\/GT_SIDECAR_INSECURE'/,
    ],
    [
      "a clone outside of the workspace",
      { agents: { claude: { image: "a", workspace: { git: { url: "https://a/b", path: "/etc" } } } } },
      /path/,
    ],
    [
      "a claim and a clone",
      { agents: { claude: { image: "a", workspace: { claim: "b", git: { url: "https://a/b" } } } } },
      /workspace/,
    ],
    [
      "a clone into a folder above the workspace",
      { agents: { claude: { image: "a", workspace: { git: { url: "https://a/b", path: "/workspace/../etc" } } } } },
      /path/,
    ],
    [
      "an option of git for a branch",
      { agents: { claude: { image: "a", workspace: { git: { url: "https://a/b", ref: "--upload-pack=x" } } } } },
      /ref/,
    ],
    ["an invalid quantity", { agents: { claude: { image: "a", resources: { limits: { memory: "4Gx" } } } } }, /memory/],
    ["a workspace without room", { agents: { claude: { image: "a", workspace: { size: 0 } } } }, /size/],
    ["an address for a trust domain", { trustDomain: "1.2.3.4" }, /trustDomain/],
    ["a trust domain with an empty label", { trustDomain: "a..b" }, /trustDomain/],
    [
      "a namespace of two projects",
      {
        namespaces: [
          { name: "a", project: "b" },
          { name: "a", project: "c" },
        ],
      },
      /a is listed twice/,
    ],
    ["agents beside the controllers", { namespaces: [{ name: "gastown-system", project: "b" }] }, /is the release's/],
    ["the CA's key beside the controllers", { ca: { namespace: "gastown-system" } }, /ca\.namespace: gastown-system/],
    ["agents beside the CA's key", { namespaces: [{ name: "gastown-ca", project: "b" }] }, /is ca\.namespace/],
    [
      "a provider that is none of its agents",
      { namespaces: [{ name: "a", project: "b", providers: ["codex"] }] },
      /codex is not one of agents/,
    ],
    [
      "the first client's name for another caller",
      { auth: { issuers: [{ issuer: "admin", projects: ["b"], publicKey: "-----BEGIN PUBLIC KEY-----" }] } },
      /admin is listed twice/,
    ],
    ["a duration without a unit", { sessions: { retention: "10" } }, /retention/],
    ["tokens of less than 2 s", { sessionTokens: { ttl: "1s" } }, /ttl/],
    ["tokens of more than an hour", { sessionTokens: { ttl: "61m" } }, /ttl/],
    ["clocks more than a minute apart", { auth: { clockSkew: "2m" } }, /clockSkew/],
    ["a user that is not a user's number", { agents: { claude: { image: "a", user: 4_294_967_295 } } }, /user/],
    ["a collector at no port", { tracing: { otlpEndpoint: "http://a:65536" } }, /otlpEndpoint/],
    ["a tag for a digest", { image: { digest: "latest" } }, /digest/],
    [
      "a private key for a public one",
      { auth: { issuers: [{ issuer: "a", projects: ["b"], publicKey: "-----BEGIN PRIVATE KEY-----" }] } },
      /publicKey/,
    ],
    ["an RSA key of an issuer", issuer(RSA, "default"), /auth\.issuers: publicKey of a is not an Ed25519/],
    ["an EC key of an issuer", issuer(EC, "default"), /auth\.issuers: publicKey of a is not an Ed25519/],
    ["an RSA key after another", issuer(ED25519 + RSA, "default"), /publicKey of a is not an Ed25519/],
    ["half a key", issuer(ED25519.slice(0, 60), "default"), /publicKey of a is cut off/],
    ["an issuer for a project without a namespace", issuer(ED25519, "other"), /projects of a: other .* default/],
    [
      "a client for a project without a namespace",
      { setup: { client: { project: "other" } } },
      /setup\.client\.project/,
    ],
    ["half a service account", adopting("system:serviceaccount:ci"), /adoptAccounts/],
    ["a service account by its path", adopting("system:serviceaccount:ci/deployer"), /adoptAccounts/],
    ["an account with a line break", adopting("jane\n"), /adoptAccounts/],
    [
      "a request above its limit",
      needing({ requests: { cpu: "1.5" }, limits: { cpu: "1400m" } }),
      /agents\.claude\.resources: requests\.cpu/,
    ],
    ["a request above the default's limit", needing({ requests: { memory: "3Gi" } }), /requests\.memory 3Gi/],
    ["a limit below the default's request", needing({ limits: { memory: "1e8" } }), /requests\.memory 256Mi/],
    [
      "a sidecar's request above its limit",
      { agents: { claude: { image: "a", sidecarResources: { requests: { memory: "1Gi" } } } } },
      /agents\.claude\.sidecarResources: requests\.memory/,
    ],
    ["its own request above its limit", { resources: { requests: { memory: "2Gi" } } }, /resources: requests\.memory/],
  ] as const)("refuses %s and names the key", async ([, values, message], context) => {
    const tool = await bed.here(context);
    const file = join(bed.dir, "wrong.json");
    await writeFile(file, JSON.stringify(values));
    await expect(tool.template("gastown", "-f", file)).rejects.toThrow(message);
  });
});
