import { z } from "zod";
import {
  address,
  block,
  collectorUrl,
  duration,
  filePath,
  httpUrl,
  listOf,
  oneOf,
  pathPattern,
  secretPattern,
  text,
  wholeNumber,
} from "./values.ts";

/** Agent programs that the bridge can start. */
export const PROVIDERS = ["codex", "claude", "opencode", "demo"] as const;
export type ProviderName = (typeof PROVIDERS)[number];

const oneOrMore = (what: string) =>
  z.preprocess((value) => (typeof value === "string" ? [value] : value), listOf(filePath(), what));

const server = block({
  listen: address().default({ host: "127.0.0.1", port: 9445 }),
  health_listen: address().optional(),
  max_connection_age: duration("1s", "8760h").optional(),
  state_dir: filePath().optional(),
});

const tls = block({
  ca_bundle: filePath(),
  cert: filePath(),
  key: filePath(),
  crl: oneOrMore("a file, or a list of files").default([]),
  /** Read by `readCrlPolicy`. */
  crl_policy: z.unknown().optional(),
});

const tokenKeys = block({
  issuer: text(),
  key_path: filePath(),
  ca: z.unknown().optional(),
  projects: listOf(text(), "a list of project names").min(1, "must name a project, or be omitted").optional(),
});

/** The shape; what the values mean is read by `readAuthConfig`. */
const auth = block({
  jwt_public_keys: listOf(tokenKeys, "a list of issuers' keys").min(
    1,
    "must have an entry: otherwise no token is accepted",
  ),
  jwt_audience: text().default("bridge"),
  jwt_max_ttl: duration("1s", "5m").default(300_000),
  clock_skew: duration("0s", "1m").default(30_000),
});

const sessions = block({
  max_per_project: wholeNumber(1, 10_000).default(5),
  max_global: wholeNumber(1, 10_000).default(20),
  /** 0: none. */
  idle_timeout: duration("0s", "8760h").default(1_800_000),
  stop_grace_period: duration("0s", "10m").default(10_000),
  event_buffer_size: wholeNumber(1, 1_000_000).default(10_000),
  retention: duration("0s", "168h").default(600_000),
});

const sessionTokens = block({
  key_path: filePath(),
  issuer: text().default("bridge"),
  audience: text().default("threads"),
  role: text().default("worker"),
  ttl: duration("2s", "1h").default(3_600_000),
});

const provider = block({
  binary: text("the name or path of a program").optional(),
  args: listOf(z.string("must be text"), "a list of strings").default([]),
  startup_timeout: duration("1s", "10m").default(30_000),
});

const logging = block({
  level: oneOf("debug", "info", "warn", "error").default("info"),
  format: oneOf("json", "text").default("json"),
  redact_patterns: listOf(secretPattern(), "a list of patterns").max(24, "must have at most 24 patterns").default([]),
});

/** `bridge.yaml`. There is no key that turns a check off or serves plaintext. */
export const bridgeFile = block({
  server,
  tls,
  auth,
  sessions,
  session_tokens: sessionTokens.optional(),
  input: block({ max_size_bytes: wholeNumber(1, 65_536).default(65_536) }),
  providers: block({
    codex: provider.optional(),
    claude: provider.optional(),
    opencode: provider.optional(),
    demo: provider.optional(),
  } satisfies Record<ProviderName, unknown>),
  allowed_paths: listOf(pathPattern(), "a list of paths").min(
    1,
    "must have a path: otherwise no session can be started",
  ),
  logging,
  crl: block({ listen: address().optional(), url: httpUrl().optional() }),
  limits: block({
    starts_per_minute: wholeNumber(1, 1_000_000).default(300),
    inputs_per_minute: wholeNumber(1, 1_000_000).default(600),
  }),
  tracing: block({ otlp_endpoint: collectorUrl().optional() }),
  audit: block({ path: filePath().optional() }),
});
