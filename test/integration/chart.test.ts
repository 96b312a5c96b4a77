import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { component, requireComponent } from "../support/components.ts";
import { CHART, configIn, Helm } from "../support/helm.ts";

describe("the chart", () => {
  let dir = "";
  let helm: Helm | undefined;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "gt-chart-"));
    const found = await component("helm");
    if ("path" in found) helm = new Helm(found.path, dir);
  });

  afterAll(async () => await rm(dir, { recursive: true, force: true }));

  async function here(context: TestContext): Promise<Helm> {
    if (helm !== undefined) return helm;
    await requireComponent(context, "helm");
    return context.skip("no helm");
  }

  it("passes helm lint", async (context) => {
    expect(await (await here(context)).run("lint", CHART, "--strict")).toContain("0 chart(s) failed");
  });

  it("writes a configuration that the controller reads, for each file of ci/", async (context) => {
    const tool = await here(context);
    for (const file of await readdir(join(CHART, "ci"))) {
      const { settings } = configIn(await tool.template("gastown", "-f", join(CHART, "ci", file)));
      expect([file, settings.namespaces.length]).toEqual([file, expect.any(Number)]);
    }
  });

  it("makes the pods that its values describe", async (context) => {
    const { settings } = configIn(
      await (await here(context)).template("gastown", "-f", join(CHART, "ci", "ha-values.yaml")),
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

  it("is the same text each time: nothing is made up while it is rendered", async (context) => {
    const tool = await here(context);
    expect(await tool.template("gastown")).toBe(await tool.template("gastown"));
  });

  it.for([
    ["a misspelt key", { replica: 3 }, /replica/],
    ["a misspelt key of an agent", { agents: { claude: { image: "a", envFron: [] } } }, /envFron/],
    ["an agent without an image", { agents: { claude: {} } }, /image/],
    ["a text for a number", { replicas: "three" }, /replicas/],
    ["no replica", { replicas: 0 }, /replicas/],
    ["no namespace", { namespaces: [] }, /namespaces/],
    ["a namespace without a project", { namespaces: [{ name: "a" }] }, /project/],
    ["a trust domain with a scheme", { trustDomain: "spiffe://a" }, /trustDomain/],
    ["another isolation", { agents: { claude: { image: "a", isolation: "none" } } }, /isolation/],
    [
      "the sidecar's own settings as environment",
      { agents: { claude: { image: "a", env: { GT_SIDECAR_INSECURE: "1" } } } },
      /GT_SIDECAR_INSECURE|env/,
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
    ["a duration without a unit", { sessions: { retention: "10" } }, /retention/],
    ["a tag for a digest", { image: { digest: "latest" } }, /digest/],
    [
      "a private key for a public one",
      { auth: { issuers: [{ issuer: "a", projects: ["b"], publicKey: "-----BEGIN PRIVATE KEY-----" }] } },
      /publicKey/,
    ],
  ] as const)("refuses %s, naming it", async ([, values, message], context) => {
    const tool = await here(context);
    const file = join(dir, "wrong.json");
    await writeFile(file, JSON.stringify(values));
    await expect(tool.template("gastown", "-f", file)).rejects.toThrow(message);
  });
});
