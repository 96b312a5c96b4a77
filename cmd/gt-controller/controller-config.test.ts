import { describe, expect, it } from "vitest";
import { ConfigError } from "../../internal/config/config-fault.ts";
import { readControllerConfig } from "./controller-config.ts";

const SMALLEST = `trust_domain: town.example
ca:
  namespace: gastown-ca
  secret: gastown-ca
namespaces:
  - name: agents
    project: shop
providers:
  claude:
    image: gt-sidecar:0.1.0
`;

const read = (text: string) => readControllerConfig(text, "controller.yaml");

/** The faults of a text, one per line. */
function faultsOf(text: string): string {
  try {
    read(text);
  } catch (err) {
    if (err instanceof ConfigError && err.kind === "invalid") return err.lines.join("\n");
    throw err;
  }
  return "";
}

describe("the controller's configuration", () => {
  it("requires a trust domain, a CA and a namespace; everything else has a default", () => {
    const { settings, server } = read(SMALLEST);
    expect(settings).toMatchObject({
      trustDomain: "town.example",
      sessions: { maxPerProject: 50, maxGlobal: 500, retentionMs: 600_000 },
      directRead: true,
    });
    expect(server).toMatchObject({
      listen: { host: "0.0.0.0", port: 9445 },
      health_listen: { host: "0.0.0.0", port: 9091 },
    });
    const template = settings.namespaces[0]?.templates.get("claude");
    expect(template).toMatchObject({
      image: "gt-sidecar:0.1.0",
      agent: "claude",
      isolation: "embedded",
      user: 10001,
      graceMs: 20_000,
    });
    expect(template?.workspace).toEqual({ type: "empty-dir", sizeLimit: "2Gi" });
  });

  it("gives each namespace the providers that it names", () => {
    const two = SMALLEST.replace(
      "project: shop",
      "project: shop\n    providers: [claude]\n  - name: desk\n    project: desk",
    );
    const { settings } = read(
      `${two}  codex:\n    image: codex:1\n    workspace: {git: {url: "https://git.example/shop"}}\n`,
    );
    expect(settings.namespaces.map(({ templates }) => [...templates.keys()])).toEqual([
      ["claude"],
      ["claude", "codex"],
    ]);
    expect(settings.namespaces[1]?.templates.get("codex")?.workspace).toMatchObject({
      type: "git",
      path: "/workspace/repo",
      depth: 1,
    });
  });

  it("names the Secrets of the set-up, and the threads server for agents with tokens", () => {
    const tokens = "{key_path: agents.key, url: https://threads.system.svc:9448, ca_path: threads.crt}";
    const secrets = [
      "{name: town-client-threads, owner: town-threads, client: threads}",
      "{name: town-threads-tls, server: [town-threads, 127.0.0.1]}",
      "{name: town-session-tokens, token_key: true}",
    ];
    const { settings } = read(`${SMALLEST}session_tokens: ${tokens}\nsecrets: [${secrets.join(", ")}]\n`);
    expect(settings.threads).toEqual({
      ...{ url: "https://threads.system.svc:9448", caPath: expect.stringMatching(/\/threads\.crt$/) },
    });
    expect(settings.secrets).toEqual([
      { name: "town-client-threads", owner: "town-threads", content: { type: "client", client: "threads" } },
      { name: "town-threads-tls", content: { type: "server", hosts: ["town-threads", "127.0.0.1"] } },
      { name: "town-session-tokens", content: { type: "token-key" } },
    ]);
  });

  it.for([
    [
      "a Secret of the set-up with two contents",
      `${SMALLEST}secrets: [{name: a, client: b, token_key: true}]\n`,
      /^controller.yaml:11: secrets\[0\]\.name: needs one of client, server and token_key$/,
    ],
    [
      "a threads server in plaintext",
      `${SMALLEST}session_tokens: {key_path: k, url: "http://threads:9448"}\n`,
      /^controller.yaml:11: session_tokens\.url: must be a URL with https$/,
    ],
    [
      "an unknown key",
      `${SMALLEST}sesions: {}\n`,
      /^controller.yaml:11: sesions: is not known here; did you mean sessions\?$/,
    ],
    [
      "an unknown key of a provider",
      `${SMALLEST}    imge: x\n`,
      /^controller.yaml:11: providers\.claude\.imge: is not known here; did you mean image\?$/,
    ],
    [
      "a missing key",
      SMALLEST.replace("    image: gt-sidecar:0.1.0\n", "    grace: 5s\n"),
      /^controller.yaml:9: providers\.claude\.image: is required$/,
    ],
    [
      "a duplicate key",
      `${SMALLEST}trust_domain: other\n`,
      /^controller.yaml:11: cannot be read as YAML: Map keys must be unique/,
    ],
    ["invalid YAML", "a: [", /^controller.yaml:1: /],
    ["nothing", "", /^controller.yaml:1: trust_domain: is required$/m],
    [
      "a number in place of text",
      SMALLEST.replace("project: shop", "project: 7"),
      /^controller.yaml:7: namespaces\[0\]\.project: must be 1 to 128 letters/,
    ],
    [
      "a duration without its unit",
      `${SMALLEST}    grace: "20"\n`,
      /^controller.yaml:11: providers\.claude\.grace: must be a duration/,
    ],
    [
      "a duration of centuries",
      `${SMALLEST}    grace: 999999999h\n`,
      /^controller.yaml:11: providers\.claude\.grace: must be a duration .* from 0s to 87600h/,
    ],
    [
      "a pause of zero between reads of the CA",
      SMALLEST.replace("secret: gastown-ca", "secret: gastown-ca\n  reload: 0s"),
      /ca\.reload: must be a duration .* from 1s to 87600h/,
    ],
    [
      "an invalid server name",
      `${SMALLEST}server: {names: ["https://town.example"]}\n`,
      /^controller.yaml:11: server\.names\[0\]: must be a DNS name or an address/,
    ],
    [
      "the sidecar's own settings as environment",
      `${SMALLEST}    env: {GT_SIDECAR_INSECURE: "1"}\n`,
      /GT_SIDECAR_INSECURE/,
    ],
    [
      "an option that replaces the sidecar's settings",
      `${SMALLEST}    options: {x: {env: GT_TLS_DIR}}\n`,
      /is set by the pod itself$/,
    ],
    [
      "a namespace that two projects use",
      SMALLEST.replace("providers:", "  - {name: agents, project: desk}\nproviders:"),
      /^controller.yaml:8: namespaces\[1\]\.name: is bound twice/,
    ],
    [
      "agents in the namespace of the CA's key",
      SMALLEST.replace("name: agents", "name: gastown-ca"),
      /^controller.yaml:6: namespaces\[0\]\.name: is the CA's namespace/,
    ],
    [
      "an unknown provider in a namespace",
      SMALLEST.replace("project: shop", "project: shop\n    providers: [codex]"),
      /namespaces\[0\]\.providers\[0\]: is not one of providers: codex/,
    ],
    [
      "a claim and a clone",
      `${SMALLEST}    workspace: {claim: a, git: {url: "https://a/b"}}\n`,
      /takes a claim or git, not both/,
    ],
    [
      "a clone that leaves the workspace",
      `${SMALLEST}    workspace: {git: {url: "https://a/b", path: /workspace/../etc}}\n`,
      /must be a folder below \/workspace/,
    ],
    [
      "a repository that is an option of git",
      `${SMALLEST}    workspace: {git: {url: "--upload-pack=x"}}\n`,
      /must be a URL/,
    ],
    [
      "a trust domain in capitals",
      SMALLEST.replace("town.example", "Town"),
      /^controller.yaml:1: trust_domain: must be/,
    ],
  ] as const)("%s is refused by its line", ([, text, message]) => {
    expect(faultsOf(text)).toMatch(message);
  });

  it("names every fault at once, in the order of the file", () => {
    const faults = `sesions: {}
trust_domain: Town
ca: { namespace: gastown-ca, secret: gastown-ca, reload: 0s }
auth: { jwt_public_keys: [{ issuer: shop, key_path: shop.pub, project: [shop] }] }
namespaces:
  - { name: agents, project: shop }
  - { name: agents, project: desk }
providers: { claude: { image: 7 } }
`;
    expect(faultsOf(faults).split("\n")).toEqual([
      "controller.yaml:1: sesions: is not known here; did you mean sessions?",
      "controller.yaml:2: trust_domain: must be lower-case letters, digits, dots and dashes",
      "controller.yaml:3: ca.reload: must be a duration such as 30s, 5m or 1h30m, from 1s to 87600h",
      "controller.yaml:4: auth.jwt_public_keys[0].project: is not known here; did you mean projects?",
      "controller.yaml:7: namespaces[1].name: is bound twice: one namespace belongs to one project (agents)",
      "controller.yaml:8: providers.claude.image: must be a non-empty string",
    ]);
  });
});
