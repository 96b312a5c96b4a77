import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ConfigError } from "../../../internal/config/config-fault.ts";
import { readBridgeFile } from "./read-bridge-file.ts";

/** The example configuration of the bridge's requirements, word for word. */
const REQUIREMENT = readFileSync(join(import.meta.dirname, "../../../test/testdata/bridge/requirement.yaml"), "utf8");

/** The smallest configuration that a bridge starts with. */
const LEAST = `tls: { ca_bundle: a, cert: b, key: c }
auth: { jwt_public_keys: [{ issuer: prd, key_path: d }] }
providers: { demo: {} }
allowed_paths: [/srv]
`;

const PLACE = { file: "bridge.yaml", folder: "/etc/bridge" };
const read = (text: string) => {
  const { config, findings } = readBridgeFile(text, PLACE);
  return { config, warnings: findings.warnings };
};

function faultsOf(text: string): readonly string[] {
  try {
    read(text);
  } catch (err) {
    if (err instanceof ConfigError) return err.lines;
    throw err;
  }
  return [];
}

it("reads the example of the requirements unchanged", () => {
  const { config, warnings } = read(REQUIREMENT);
  expect(config).toMatchObject({
    listen: { host: "0.0.0.0", port: 9445 },
    tls: {
      ca: "/etc/bridge/certs/ca-bundle.crt",
      cert: "/etc/bridge/certs/bridge.crt",
      key: "/etc/bridge/certs/bridge.key",
    },
    auth: { audience: "bridge", maxTtlMs: 300_000 },
    sessions: { maxPerProject: 5, maxGlobal: 20, idleTimeoutMs: 1_800_000, graceMs: 10_000, eventBuffer: 10_000 },
    inputMaxBytes: 65_536,
    allowedPaths: ["/home/*/repos", "/opt/projects"],
    logging: { level: "info", format: "json" },
  });
  expect(config.auth.keyFiles.map(({ path }) => path)).toEqual([
    "/etc/bridge/certs/prd-manager-jwt.pub",
    "/etc/bridge/certs/ndara-jwt.pub",
  ]);
  expect(config.providers.map(({ name, binary, args }) => [name, binary, args])).toEqual([
    ["codex", "codex", ["--quiet"]],
    ["claude", "claude", ["--print", "--verbose"]],
    ["opencode", "opencode", []],
  ]);
  expect(warnings).toEqual([
    { line: 32, key: "providers.codex.args", reason: expect.stringContaining("--quiet") },
    ...["prd-manager", "ndara-orchestrator"].map((issuer, i) => ({
      ...{ line: 12 + 2 * i, key: `auth.jwt_public_keys[${i}]` },
      reason: `has no projects: "${issuer}" may also act for the other issuers' projects`,
    })),
  ]);
});

it("warns if a project's limit exceeds the global limit, and accepts a global limit below the default", () => {
  const sessions = (text: string) => read(`${LEAST}sessions: ${text}\n`);
  expect(sessions("{ max_per_project: 9, max_global: 8 }").warnings).toEqual([
    { line: 5, key: "sessions.max_per_project", reason: "exceeds sessions.max_global (8), which takes precedence" },
  ]);
  expect(sessions("{ max_global: 2 }")).toMatchObject({ warnings: [], config: { sessions: { maxGlobal: 2 } } });
});

it("reads the sample file as it is, and with every commented-out line enabled", () => {
  const sample = readFileSync(join(import.meta.dirname, "../../../deploy/bridge/bridge.yaml"), "utf8");
  expect(read(sample).warnings).toEqual([]);
  const { config } = read(sample.replaceAll(/^(\s*)# (?=\s*[a-z_]+:)/gm, "$1"));
  expect(config).toMatchObject({
    stateDir: "/var/lib/gastown-bridge",
    crlServer: { path: "/ca.crl" },
    auth: { keyFiles: [{ rule: { projects: ["shop"] } }, { rule: { projects: ["search", "billing"] } }] },
  });
  expect(config.providers.map(({ name }) => name)).toContain("demo");
});

it("listens on loopback and applies limits by default", () => {
  const { config } = read(LEAST);
  expect(config).toMatchObject({
    listen: { host: "127.0.0.1", port: 9445 },
    healthListen: { host: "127.0.0.1", port: 9446 },
    maxConnectionAgeMs: undefined,
    auth: { audience: "bridge", maxTtlMs: 300_000, clockSkewMs: 30_000 },
    sessions: { maxPerProject: 5, maxGlobal: 20, idleTimeoutMs: 1_800_000, retentionMs: 600_000 },
    inputMaxBytes: 65_536,
    crlServer: undefined,
    sessionTokens: undefined,
    auditPath: undefined,
  });
});

it("reads every key beyond the example of the requirements", () => {
  const { config } = read(`
server: { listen: ":1", health_listen: "[::1]:2", max_connection_age: 1h30m, state_dir: state }
tls: { ca_bundle: a, cert: b, key: c, crl: [x.pem, /y.pem], crl_policy: require }
auth:
  jwt_public_keys: [{ issuer: prd, key_path: d, projects: [shop] }]
  clock_skew: 10s
providers: { demo: }
allowed_paths: [/srv]
crl: { listen: "0.0.0.0:9447", url: "http://bridge.example.com:9447/lists/ca.crl" }
sessions: { retention: 1h, idle_timeout: "0" }
limits: { starts_per_minute: 7, inputs_per_minute: 8 }
audit: { path: /var/log/bridge/audit.log }
session_tokens: { key_path: agents.key, ttl: 30m }
tracing: { otlp_endpoint: "http://127.0.0.1:4318" }
`);
  expect(config).toMatchObject({
    listen: { host: "0.0.0.0", port: 1 },
    healthListen: { host: "::1", port: 2 },
    maxConnectionAgeMs: 5_400_000,
    stateDir: "/etc/bridge/state",
    sessions: { retentionMs: 3_600_000, idleTimeoutMs: undefined },
    crlServer: { listen: { host: "0.0.0.0", port: 9447 }, path: "/lists/ca.crl" },
    limits: { startsPerMinute: 7, inputsPerMinute: 8 },
    auditPath: "/var/log/bridge/audit.log",
    otlpEndpoint: "http://127.0.0.1:4318",
    sessionTokens: {
      ...{ keyPath: "/etc/bridge/agents.key", issuer: "bridge", audience: "threads", role: "worker" },
      ttlMs: 1_800_000,
    },
    tls: { crl: ["/etc/bridge/x.pem", "/y.pem"] },
    auth: { clockSkewMs: 10_000, keyFiles: [{ rule: { projects: ["shop"] } }] },
  });
});

describe("names every fault by line, key and reason", () => {
  it.each<[string, string, string]>([
    ["a key that is not known", "servr: {}", "bridge.yaml:5: servr: is not known here; did you mean server?"],
    [
      "an unknown key below another key",
      "server:\n  lisen: x",
      "bridge.yaml:6: server.lisen: is not known here; did you mean listen?",
    ],
    ["a provider that does not exist", "server: {}\nproviders: {}", "key"],
    ["an address without a port", "server: { listen: 0.0.0.0 }", "bridge.yaml:5: server.listen: must be HOST:PORT"],
    ["an invalid port", 'server: { listen: "a:70000" }', "bridge.yaml:5: server.listen: must be HOST:PORT"],
    [
      "a duration without a unit",
      "sessions:\n  idle_timeout: 30",
      "bridge.yaml:6: sessions.idle_timeout: must be a duration",
    ],
    [
      "agents' tokens with a role for people",
      "session_tokens: { key_path: k, role: operator }",
      "session_tokens.role: must not be operator",
    ],
    [
      "agents' tokens that live too long",
      "session_tokens: { key_path: k, ttl: 2h }",
      "session_tokens.ttl: must be a duration",
    ],
    [
      "a threads server in plaintext on another machine",
      'session_tokens: { key_path: k, url: "http://threads.example:9448" }',
      "session_tokens.url: must be a URL",
    ],
    ["a collector without http", "tracing: { otlp_endpoint: a:4318 }", "tracing.otlp_endpoint: must be a URL"],
    ["a duration in words", "sessions: { retention: a week }", "bridge.yaml:5: sessions.retention: must be a duration"],
    ["a count that is too low", "sessions: { max_global: 0 }", "sessions.max_global: must be a whole number from 1"],
    ["a count that is not whole", "sessions: { max_global: 1.5 }", "sessions.max_global: must be a whole number"],
    [
      "an input limit above the size of a request",
      "input: { max_size_bytes: 65537 }",
      "input.max_size_bytes: must be a whole number",
    ],
    ["an invalid pattern", 'logging:\n  redact_patterns:\n    - "(a"', "bridge.yaml:7: logging.redact_patterns[0]:"],
    [
      "a level that does not exist",
      "logging: { level: loud }",
      "logging.level: must be one of debug, info, warn, error",
    ],
    [
      "serving revocation lists without any",
      'crl: { listen: "127.0.0.1:1" }',
      "bridge.yaml:5: crl.listen: needs tls.crl",
    ],
    ["a revocation list's URL that is not HTTP", "crl: { url: ftp://x/y }", "crl.url: must be a URL"],
    ["a block given as text", "input: lots", "bridge.yaml:5: input: must be a block of keys"],
    ["a duplicate key", "input: {}\ninput: {}", "bridge.yaml:6: cannot be read as YAML: Map keys must be unique"],
    ["invalid YAML", "input: [", "cannot be read as YAML"],
    ["a tag that runs code", "input: !!js/function x", "cannot be read as YAML: Unresolved tag"],
    ["aliases that multiply", `audit: &a [x]\ninput: [${"*a,".repeat(200)}]`, "Excessive alias count"],
    ["a second document", "---\ninput: {}", "cannot be read as YAML"],
  ])("%s", (_, more, words) => {
    const text = words === "key" ? LEAST.replace("demo", "gemini") : LEAST + more;
    const expected =
      words === "key" ? "bridge.yaml:3: providers.gemini: is not known here; the known keys are codex, claude" : words;
    expect(faultsOf(`${text}\n`)).toContainEqual(expect.stringContaining(expected));
  });

  it.each<[string, string, string]>([
    ["a relative path", "[srv]", "allowed_paths[0]: must be an absolute path"],
    ["a path that leaves its folder", "[/srv/../etc]", "allowed_paths[0]: must be an absolute path"],
    ["a star for several segments", '["/srv/**"]', "allowed_paths[0]: must be an absolute path"],
    ["no path at all", "[]", "allowed_paths: must have a path"],
  ])("%s that agents may use", (_, paths, words) => {
    expect(faultsOf(LEAST.replace("[/srv]", paths))).toEqual([expect.stringContaining(`bridge.yaml:4: ${words}`)]);
  });

  it.each<[string, string, string]>([
    ["a token lifetime that is too long", "jwt_max_ttl: 6m", "auth.jwt_max_ttl: must be a duration"],
    ["no keys", "jwt_public_keys: []", "auth.jwt_public_keys: must have an entry"],
    ["an algorithm that turns the check off", "jwt_algorithms: [none]", "auth.jwt_algorithms: is not known here"],
    [
      "an invalid CA of an issuer",
      "jwt_public_keys: [{ issuer: a, key_path: b, ca: [3] }]",
      "auth.jwt_public_keys[0].ca: must be",
    ],
  ])("%s", (_, auth, words) => {
    const keys = auth.startsWith("jwt_public") ? "" : "\n  jwt_public_keys: [{ issuer: prd, key_path: d }]";
    const text = LEAST.replace(/^auth.*$/m, `auth:\n  ${auth}${keys}`);
    expect(faultsOf(text)).toEqual([expect.stringContaining(`bridge.yaml:3: ${words}`)]);
  });

  it("all faults at once, in the order of the file", () => {
    const faults = faultsOf(
      "input: { max_size_bytes: -1 }\nlogging: { format: xml }\ntls: { cert: b }\nallowed_paths: [/srv]\n",
    );
    expect(faults.map((fault) => fault.split(": ").slice(0, 2).join(" "))).toEqual([
      "bridge.yaml:1 auth.jwt_public_keys",
      "bridge.yaml:1 input.max_size_bytes",
      "bridge.yaml:1 providers",
      "bridge.yaml:2 logging.format",
      "bridge.yaml:3 tls.ca_bundle",
      "bridge.yaml:3 tls.key",
    ]);
  });

  it("the faults of an empty file", () => {
    expect(faultsOf("")).toContain("bridge.yaml:1: tls.cert: is required");
  });
});

describe("no key that turns verification off or serves plaintext", () => {
  const names = [
    "insecure",
    "insecure_skip_verify",
    "verify",
    "plaintext",
    "client_auth",
    "min_version",
    "enabled",
    "disabled",
  ];
  it.each(["server", "tls", "auth", "crl"])("exists in %s", (block) => {
    for (const name of names) {
      const text = LEAST.replace(new RegExp(`^${block}: \\{`, "m"), `${block}: { ${name}: true,`);
      const faults = faultsOf(text === LEAST ? `${LEAST}${block}: { ${name}: true }\n` : text);
      expect(faults).toContainEqual(expect.stringContaining(`${block}.${name}: is not known here`));
    }
  });
});
