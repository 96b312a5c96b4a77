import { isAbsolute } from "node:path";
import { z } from "zod";
import { authBlockWith, crlPolicyValue } from "../../internal/auth/auth-config.ts";
import { LOG_LEVELS } from "../../internal/cli/command/log-level.ts";
import { block, together } from "../../internal/config/block.ts";
import {
  address,
  baseUrl,
  byteCount,
  duration,
  filePath,
  listOf,
  oneOf,
  secretPattern,
  text,
  wholeNumber,
} from "../../internal/config/values.ts";
import { isName } from "../../internal/relay/nats/subjects.ts";

const MIB = 1024 * 1024;
/**
 * The largest permitted bound of a message. It leaves room for an envelope within the default bound of a NATS server.
 */
export const MOST_MESSAGE_BYTES = MIB - 64 * 1024;

const isPlainSubject = (subject: string) => /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/.test(subject);
const isVariableName = (variable: string) => !variable.includes("=");
const variableValue = z.string("must be text").refine((value) => !value.includes("\0"), "must be text without NUL");
const isVariablePattern = (pattern: string) => /^[A-Za-z_][A-Za-z0-9_]*\*?$/.test(pattern);

const name = (what: string) => text(`${what} of letters, digits, _ and -`, isName);

const nats = (folder: string) =>
  block({
    url: text("the URL of a NATS server").optional(),
    creds: filePath(folder).optional(),
    nkey: filePath(folder).optional(),
    tls_dir: filePath(folder).optional(),
    inbox_prefix: text("a subject without wildcards", isPlainSubject).optional(),
    replicas: wholeNumber(1, 3)
      .refine((count) => count !== 2, { error: "must be 1 or 3" })
      .default(1),
    stream_prefix: name("a name").optional(),
    outbox_bytes: byteCount(64 * 1024, 1024 * MIB).default(64 * MIB),
  });

const connections = block({
  max_message_bytes: byteCount(1024, MOST_MESSAGE_BYTES).optional(),
  ping_interval: duration("1s", "1h").optional(),
  pong_timeout: duration("1s", "1h").optional(),
});

const turns = block({
  deadline: duration("1s", "24h").default(30 * 60_000),
  idle: duration("1s", "24h").default(10 * 60_000),
  create_timeout: duration("1s", "10m").default(60_000),
  cancel_grace: duration("0s", "10m").default(10_000),
  work_ttl: duration("1s", "8760h").default(24 * 3_600_000),
  ack_wait: duration("1s", "10m").default(15_000),
  /** Must be shorter than the time limit for claiming a lane. */
  holder_timeout: duration("1s", "15s").default(2000),
  max_attempts: wholeNumber(1, 100).default(5),
  backoff: listOf(duration("0s", "10m"), "a list of durations").default([0, 1000, 5000, 15_000]),
  permission_timeout: duration("1s", "24h").default(60_000),
  drain_timeout: duration("0s", "10m").default(25_000),
  permission: oneOf("ask", "deny", "allow_reads").default("ask"),
});

const values = block({
  /**
   * The agents of the role: `accept` for agents that dial in, `stdio` for children of the relay, `bridge` for sessions
   * of a bridge.
   */
  link: oneOf("accept", "stdio", "bridge").default("accept"),
  /** The program and arguments of a child. */
  command: listOf(text(), "a list of words: the program and its arguments").optional(),
  /** Variables of a child, in addition to those that every child gets. */
  env: z
    .record(text("a name without =", isVariableName), variableValue, "must be a block of names and texts")
    .optional(),
  /** Names of variables of the relay that a child gets. A final `*` stands for any rest. */
  pass_env: listOf(text("a name, which may end in *", isVariablePattern), "a list of names").default([]),
  /** The most agents of the role at a time. */
  max_agents: wholeNumber(1, 1000).default(8),
  model: text("the name of a model").optional(),
  max_tokens: wholeNumber(1, 10_000_000).optional(),
  system: z.string("must be text").optional(),
  tools: z.array(z.record(z.string(), z.unknown()), "must be a list of tools").optional(),
  on_uncertain: oneOf("fail", "resend").optional(),
  /** The working directory of an ACP agent, or of a bridge's session. */
  repo_path: text("an absolute path", isAbsolute).optional(),
  /** A name in `bridges`. */
  bridge: name("a name").optional(),
  /** The bridge's name for an agent program. */
  provider: text("the name of a provider").optional(),
  agent_opts: z.record(text("a name"), z.string("must be text"), "must be a block of names and texts").optional(),
  /** True: each piece of work gets its own session. */
  fresh: z.boolean("must be true or false").default(false),
});

const logging = block({
  level: oneOf(...LOG_LEVELS).optional(),
  format: oneOf("json", "text").default("json"),
  /** In addition to the built-in patterns. */
  redact_patterns: listOf(secretPattern(), "a list of patterns").max(24, "must have at most 24 patterns").default([]),
});

const isSessionPattern = (pattern: string) => isName(pattern.replace(/\*$/, "")) || pattern === "*";

const auth = (folder: string) =>
  authBlockWith(folder, "relay", {
    /** Sessions that the issuer may sign for. Default: any session. */
    sessions: listOf(text("the name of a session, which may end in *", isSessionPattern), "a list of sessions")
      .min(1, "must name a session, or be omitted")
      .optional(),
  });

const stdioRole = together(values, ["link", "command"], ({ link, command = [] }, wrong) => {
  if (link === "stdio" && command.length === 0) wrong(["link"], "stdio needs a command");
});

const NEEDED = ["bridge", "provider", "repo_path"] as const;
const signing = (folder: string) =>
  block({
    /** The name with which this relay and its commands sign. Default: `relay_id`. */
    name: name("a name").optional(),
    /** The file with the nkey seed that signs. */
    seed_file: filePath(folder).optional(),
    /** Public nkeys of the signers whose work, decisions and control messages count, by name. */
    signers: z
      .record(name("a name"), text("a user's public nkey"), "must be a block of names and public nkeys")
      .refine((signers) => Object.keys(signers).length > 0, { error: "must name a signer, or be omitted" })
      .optional(),
  });

const role = together(stdioRole, ["link", ...NEEDED], (given, wrong) => {
  const missing = given.link === "bridge" ? NEEDED.filter((key) => given[key] === undefined) : [];
  if (missing.length > 0) wrong(["link"], `bridge needs ${missing.join(", ")}`);
});

const bridge = (folder: string) =>
  block({
    /** `host:port` */
    target: text("host:port"),
    /** A folder with `ca.crt`, `tls.crt` and `tls.key`. */
    tls_dir: filePath(folder),
    jwt_key: filePath(folder),
    jwt_issuer: text("a name"),
    jwt_audience: text("a name").default("bridge"),
    project: text("a name"),
  });

/** The schema of `relay.yaml`. Relative paths are resolved in `folder`. */
export const relayFile = (folder: string) =>
  block({
    listen: address().optional(),
    health_listen: address().optional(),
    relay_id: text("a name").optional(),
    nats: nats(folder),
    connections,
    turns,
    tls: block({ dir: filePath(folder).optional(), crl_policy: crlPolicyValue() }),
    auth: auth(folder).optional(),
    audit: block({ path: filePath(folder).optional() }),
    signing: signing(folder),
    roles: z.preprocess((value) => value ?? {}, z.record(name("a role"), role)),
    bridges: z.preprocess((value) => value ?? {}, z.record(name("a name"), bridge(folder))),
    dialects: block({
      /** True: agents may speak the draft of ACP's version 2. */
      acp_v2: z.boolean("must be true or false").default(false),
    }),
    /** True: each agent that holds a lane is offered as a NATS service, as the agent protocol defines. */
    agents_protocol: z.boolean("must be true or false").default(false),
    logging,
    tracing: block({ otlp_endpoint: baseUrl().optional() }),
  });

export type RelayValues = z.output<ReturnType<typeof relayFile>>;
