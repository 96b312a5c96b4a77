import { z } from "zod";
import { agentTokenBlock } from "../../../internal/auth/agent-token-block.ts";
import { authBlock, crlPolicyValue } from "../../../internal/auth/auth-config.ts";
import { block, together } from "../../../internal/config/block.ts";
import {
  address,
  baseUrl,
  byteCount,
  duration,
  filePath,
  httpUrl,
  listOf,
  oneOf,
  secretPattern,
  text,
  wholeNumber,
  wildcardPath,
} from "../../../internal/config/values.ts";
import { checkServerUrl } from "../../../internal/threads/client/server-url.ts";

/** Agent programs that the bridge can start. */
export const PROVIDERS = ["codex", "claude", "opencode", "demo"] as const;
export type ProviderName = (typeof PROVIDERS)[number];

const server = (folder: string) =>
  block({
    listen: address().default({ host: "127.0.0.1", port: 9445 }),
    health_listen: address().optional(),
    max_connection_age: duration("1s", "8760h").optional(),
    state_dir: filePath(folder).optional(),
    projects_dir: filePath(folder).default("/run/gastown-bridge"),
  });

const tls = (folder: string) =>
  block({
    ca_bundle: filePath(folder),
    cert: filePath(folder),
    key: filePath(folder),
    crl: z
      .preprocess(
        (value) => (typeof value === "string" ? [value] : value),
        listOf(filePath(folder), "a file, or a list of files"),
      )
      .default([]),
    crl_policy: crlPolicyValue(),
  });

const sessions = block({
  max_per_project: wholeNumber(1, 10_000).default(5),
  max_global: wholeNumber(1, 10_000).default(20),
  /** 0: no timeout. */
  idle_timeout: duration("0s", "8760h").default(1_800_000),
  stop_grace_period: duration("0s", "10m").default(10_000),
  event_buffer_size: wholeNumber(1, 1_000_000).default(10_000),
  retention: duration("0s", "168h").default(600_000),
});

/** A name without a slash is looked up on PATH; anything else is a path. */
const program = (folder: string) =>
  text("the name or path of a program").transform((name) => (name.includes("/") ? filePath(folder).parse(name) : name));

const provider = (folder: string) =>
  block({
    binary: program(folder).optional(),
    args: listOf(z.string("must be text"), "a list of strings").default([]),
    startup_timeout: duration("1s", "10m").default(30_000),
    /** The `agent_opts` that a caller may set. Default: all that the provider supports. */
    allow: listOf(text("the name of an agent_opts"), "a list of names of agent_opts").optional(),
  }).optional();

const projects = z.preprocess(
  (value) => value ?? {},
  z.record(text("the name of a project"), block({ run_as: text("the name of a user of this machine").optional() })),
);

const logging = block({
  level: oneOf("debug", "info", "warn", "error").default("info"),
  format: oneOf("json", "text").default("json"),
  redact_patterns: listOf(secretPattern(), "a list of patterns").max(24, "must have at most 24 patterns").default([]),
});

const providers = (folder: string) =>
  block({
    codex: provider(folder),
    claude: provider(folder),
    opencode: provider(folder),
    demo: provider(folder),
  } satisfies Record<ProviderName, unknown>).refine((given) => Object.keys(given).length > 0, {
    error: `must name a provider: one of ${PROVIDERS.join(", ")}`,
    when: ({ issues }) => issues.length === 0,
  });

/** The server for which agents get tools. */
const threads = (folder: string) => ({
  url: text("a URL, of a server on another machine with https", isServerUrl).optional(),
  ca_path: filePath(folder).optional(),
});

function isServerUrl(given: string): boolean {
  try {
    checkServerUrl(given);
    return true;
  } catch {
    return false;
  }
}

/** `bridge.yaml`. There is no key that turns a check off or serves plaintext. */
export const bridgeFile = (folder: string) =>
  together(
    block({
      server: server(folder),
      tls: tls(folder),
      auth: authBlock(folder),
      sessions,
      session_tokens: agentTokenBlock(folder, "bridge", threads(folder)).optional(),
      projects,
      input: block({ max_size_bytes: byteCount(1, 65_536).default(65_536) }),
      providers: providers(folder),
      allowed_paths: listOf(wildcardPath(), "a list of paths").min(
        1,
        "must have a path: otherwise no session can be started",
      ),
      logging,
      crl: block({ listen: address().optional(), url: httpUrl().optional() }),
      limits: block({
        starts_per_minute: wholeNumber(1, 1_000_000).default(300),
        inputs_per_minute: wholeNumber(1, 1_000_000).default(600),
      }),
      tracing: block({ otlp_endpoint: baseUrl().optional() }),
      audit: block({ path: filePath(folder).optional() }),
    }),
    ["crl", "tls"],
    ({ crl, tls: { crl: lists } }, wrong) => {
      if (crl.listen !== undefined && lists.length === 0) {
        wrong(["crl", "listen"], "needs tls.crl: there is no list to serve");
      }
    },
  );

export type BridgeValues = z.output<ReturnType<typeof bridgeFile>>;
