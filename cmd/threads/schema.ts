import { z } from "zod";
import { crlPolicyValue } from "../../internal/auth/auth-config.ts";
import { block, together } from "../../internal/config/block.ts";
import {
  address,
  baseUrl,
  duration,
  filePath,
  listOf,
  oneOf,
  secretPattern,
  text,
  wholeNumber,
} from "../../internal/config/values.ts";
import { readServer } from "../../internal/terminal/trust/server-address.ts";
import { DEFAULT_POLICY } from "../../internal/threads/domain/policy.ts";
import { areTemplates } from "../../internal/threads/domain/recovery.ts";

const name = (what: string, pattern: RegExp) => text(what, (value) => pattern.test(value));
const workspace = () => name("* or the name of a workspace", /^(?:\*|[A-Za-z0-9][A-Za-z0-9._-]{0,127})$/);
const role = () => name("* or the name of a role", /^(?:\*|[A-Za-z0-9][A-Za-z0-9._-]{0,63})$/);

/** A whole number from 1 to `most`. */
const count = (most: number, fallback: number) => wholeNumber(1, most).default(fallback);
const time = (most: string, fallback: number) => duration("1s", most).default(fallback);

const issuer = (folder: string) =>
  together(
    block({
      issuer: text(),
      key_path: filePath(folder),
      kind: oneOf("agent", "person").default("agent"),
      workspaces: listOf(workspace(), "a list of workspaces").min(1, "must name a workspace").default(["*"]),
      roles: listOf(role(), "a list of roles").min(1, "must name a role").default(["*"]),
    }),
    ["kind", "roles"],
    ({ kind, roles }, wrong) => {
      if (kind === "agent" && roles.includes("operator")) wrong(["roles"], "operator is for issuers of kind person");
    },
  );

const d = DEFAULT_POLICY;
const policy = block({
  turns: count(1000, d.turns),
  repeats: count(100, d.repeats),
  hops: count(1000, d.hops),
  runaway_per_hour: count(100_000, d.runaway_per_hour),
  posts_per_minute: count(100_000, d.posts_per_minute),
  wakes_per_minute: count(10_000, d.wakes_per_minute),
  quiet: time("10m", d.quiet),
  recheck: time("10m", d.recheck),
  max_defer: time("1h", d.max_defer),
  resume_max: wholeNumber(0, 10).default(d.resume_max),
  stale_after: time("720h", d.stale_after),
  retention_days: wholeNumber(0, 36_500).default(d.retention_days),
  escalation_sla: time("168h", d.escalation_sla),
  unmanaged: oneOf("refuse", "resume", "spawn").default(d.unmanaged),
  spawn: z
    .custom<Readonly<Record<string, unknown>>>(
      areTemplates,
      "must be templates by role: provider, repo_path, agent_opts",
    )
    .default(d.spawn),
  orchestrator: name("an agent's address", /^[A-Za-z0-9][A-Za-z0-9._/-]{0,255}$/).default(d.orchestrator),
});

/** The keys without which no bridge can be called. Its address may come from `--bridge` instead of `bridge_url`. */
const BRIDGE_KEYS = ["tls_dir", "jwt_key", "jwt_issuer"] as const;

const runtime = (folder: string) =>
  together(
    block({
      kind: oneOf("local", "bridge", "none").optional(),
      bridge_url: text("HOST:PORT", isServer).optional(),
      tls_dir: filePath(folder).optional(),
      jwt_key: filePath(folder).optional(),
      jwt_issuer: text("a name").optional(),
      jwt_audience: text("a name").default("bridge"),
    }),
    ["kind", ...BRIDGE_KEYS],
    (given, wrong) => {
      const missing = BRIDGE_KEYS.filter((key) => given[key] === undefined);
      if (given.kind === "bridge" && missing.length > 0) wrong(["kind"], `needs ${missing.join(", ")}`);
    },
  );

function isServer(given: string): boolean {
  try {
    readServer(given, "");
    return true;
  } catch {
    return false;
  }
}

/** `threads.yaml`. Paths in it are relative to `folder`. */
export const threadsFile = (folder: string) =>
  block({
    server: block({ listen: address().optional(), health_listen: address().optional() }),
    tls: block({ dir: filePath(folder).optional(), crl_policy: crlPolicyValue() }),
    audit: block({ path: filePath(folder).optional() }),
    logging: block({
      level: oneOf("debug", "info", "warn", "error").optional(),
      format: oneOf("json", "text").default("json"),
      redact_patterns: listOf(secretPattern(), "a list of patterns").default([]),
    }),
    tracing: block({ otlp_endpoint: baseUrl().optional() }),
    database: together(
      block({
        url_file: filePath(folder).optional(),
        migrate_url_file: filePath(folder).optional(),
        pool_max: wholeNumber(2, 200).default(10),
      }),
      ["url_file", "migrate_url_file"],
      ({ url_file: url, migrate_url_file: direct }, wrong) => {
        if (direct !== undefined && url === undefined) wrong(["migrate_url_file"], "needs url_file");
      },
    ),
    auth: block({
      jwt_public_keys: listOf(issuer(folder), "a list of issuers' keys").min(1, "must have an entry").optional(),
      jwt_audience: text().default("threads"),
      jwt_max_ttl: duration("1s", "5m").default(300_000),
      agent_max_ttl: duration("1s", "1h").default(3_600_000),
    }),
    runtime: runtime(folder),
    policy,
  });

/** A file's settings; times in ms. */
export type ThreadsValues = z.output<ReturnType<typeof threadsFile>>;
