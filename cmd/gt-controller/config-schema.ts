import { z } from "zod";
import { profileNames } from "../../internal/agents/known-programs.ts";
import { parseDurationMs } from "../../internal/base/duration.ts";
import {
  DEFAULT_RESOURCES,
  DEFAULT_SIDECAR_RESOURCES,
  DEFAULT_USER,
  type Resources,
  WORKSPACE,
} from "../../internal/controller/pods/agent-template.ts";
import { isHostName } from "../../internal/pki/der/general-names.ts";
import { isTrustDomain } from "../../internal/pki/trust-domain.ts";
import { isCollectorUrl } from "../../internal/tracing/collector-url.ts";

/** A DNS label: what Kubernetes takes as the name of a namespace. */
const namespaceName = z.string().regex(/^(?!-)[a-z0-9-]{1,63}(?<!-)$/, "must be the name of a namespace");
const objectName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, "must be the name of a Kubernetes object");
const text = z.string().min(1, "must not be empty");
const projectName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, "must be 1 to 128 letters, digits, dots, dashes");
const providerName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "must be lower-case letters, digits, dashes");
const quantity = z
  .union([z.string(), z.number()])
  .transform(String)
  .refine((one) => /^\d+(\.\d+)?([eE]\d+|m|k|[KMGTPE]i?)?$/.test(one), "must be a quantity such as 500m, 2Gi");
const quantities = z.record(text, quantity);
/** Ten years. */
const MOST_MS = 87_600 * 3_600_000;
const duration = z.string().transform((value, context) => {
  try {
    const ms = parseDurationMs(value);
    if (ms <= MOST_MS) return ms;
    context.addIssue({ code: "custom", message: "must be a duration of at most 87600h" });
  } catch {
    context.addIssue({ code: "custom", message: "must be a duration such as 300ms, 1.5s, 2h45m" });
  }
  return z.NEVER;
});
const count = (most: number) => z.number().int().min(1).max(most);

/** The sidecar's own settings start with these; the agent's pod sets them itself. */
const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of an environment variable")
  .refine((name) => !/^(?:GT_|TMUX)/.test(name) && name !== "NODE_OPTIONS", "is set by the pod itself");

const envSource = z.union([
  z.strictObject({ secret: objectName, optional: z.boolean().default(false) }),
  z.strictObject({ config_map: objectName, optional: z.boolean().default(false) }),
]);

const workspaceFolder = z
  .string()
  .regex(/^\/workspace\/[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/, `must be a folder below ${WORKSPACE}`)
  .refine(
    (path) => !path.split("/").some((part) => part === "." || part === ".."),
    `must be a folder below ${WORKSPACE}`,
  );
const git = z.strictObject({
  url: text.regex(/^(?:https|ssh|git|file):\/\/[^\s]+$/, "must be a URL with https, ssh, git or file"),
  ref: z
    .string()
    .regex(/^(?!-)[^\x00-\x20\x7f~^:?*[\\]+$/, "must be a branch or a tag")
    .optional(),
  depth: z.number().int().min(0).max(2_147_483_647).default(1),
  path: workspaceFolder.default(`${WORKSPACE}/repo`),
  credentials_secret: objectName.optional(),
});
const workspace = z
  .strictObject({ size: quantity.default("2Gi"), claim: objectName.optional(), git: git.optional() })
  .refine((one) => one.claim === undefined || one.git === undefined, "takes a claim or git, not both");

const toleration = z.strictObject({
  key: z.string().exactOptional(),
  operator: z.enum(["Exists", "Equal"]).exactOptional(),
  value: z.string().exactOptional(),
  effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).exactOptional(),
});

const resources = ({ requests, limits }: Resources) =>
  z
    .strictObject({ requests: quantities.default({ ...requests }), limits: quantities.default({ ...limits }) })
    .prefault({});

const provider = z.strictObject({
  image: text,
  image_pull_policy: z.enum(["Always", "IfNotPresent", "Never"]).optional(),
  image_pull_secrets: z.array(objectName).default([]),
  agent: z.enum(profileNames).optional(),
  command: z.array(text).default([]),
  env: z.record(variableName, z.string()).default({}),
  env_from: z.array(envSource).default([]),
  options: z
    .record(
      z.string().regex(/^(?!mode$)[a-z][a-z0-9_-]{0,62}$/, "must be lower-case letters, digits, dashes, and not mode"),
      z.strictObject({ env: variableName, values: z.array(z.string()).min(1).exactOptional() }),
    )
    .default({}),
  isolation: z.enum(["embedded", "containers"]).default("embedded"),
  resources: resources(DEFAULT_RESOURCES),
  sidecar_resources: resources(DEFAULT_SIDECAR_RESOURCES),
  workspace: workspace.prefault({}),
  grace: duration.default(20_000),
  user: z.number().int().min(1).max(4_294_967_294).nullable().default(DEFAULT_USER),
  service_account: objectName.optional(),
  node_selector: z.record(text, z.string()).default({}),
  tolerations: z.array(toleration).default([]),
  runtime_class: objectName.optional(),
  priority_class: objectName.optional(),
});

const namespace = z.strictObject({
  name: namespaceName,
  project: projectName,
  providers: z.array(providerName).optional(),
  plaintext: z.boolean().default(false),
  adopt: z.strictObject({ accounts: z.array(text).min(1) }).optional(),
});

const server = z.strictObject({
  listen: text.default("0.0.0.0:9445"),
  health_listen: text.default("0.0.0.0:9091"),
  max_connection_age: duration.default(0),
  names: z.array(z.string().refine(isHostName, "must be a DNS name or an address")).default([]),
});

/** The file of `gt-controller --config`. Every key that is not known is an error. */
export const configSchema = z.strictObject({
  trust_domain: z.string().refine(isTrustDomain, "must be lower-case letters, digits, dots and dashes"),
  server: server.prefault({}),
  ca: z.strictObject({
    namespace: namespaceName,
    secret: objectName,
    reload: duration.refine((ms) => ms >= 1_000, "must be a duration of at least 1s").default(15_000),
    keep_previous: duration.default(90 * 86_400_000),
  }),
  auth: z.record(z.string(), z.unknown()).optional(),
  namespaces: z.array(namespace).min(1),
  providers: z.record(providerName, provider).default({}),
  sessions: z
    .strictObject({
      max_per_project: count(100_000).default(50),
      max_global: count(100_000).default(500),
      retention: duration.default(600_000),
      start_timeout: duration.default(300_000),
    })
    .prefault({}),
  limits: z
    .strictObject({
      starts_per_minute: count(100_000).default(60),
      inputs_per_minute: count(100_000).default(600),
    })
    .prefault({}),
  input: z.strictObject({ max_size_bytes: count(65_536).default(65_536) }).prefault({}),
  clients: z.strictObject({ direct_read: z.boolean().default(true) }).prefault({}),
  session_tokens: z
    .strictObject({
      key_path: text,
      issuer: text.default("gastown"),
      audience: text.default("threads"),
      role: text
        .refine((role) => role !== "operator", "must not be operator: that role is for people")
        .default("worker"),
      ttl: duration
        .refine((ms) => ms >= 2_000 && ms <= 3_600_000, "must be a duration from 2s to 1h")
        .default(3_600_000),
    })
    .optional(),
  bd: z.strictObject({ command: z.array(text).min(1), workdir: text.optional() }).optional(),
  tracing: z
    .strictObject({ otlp_endpoint: text.refine(isCollectorUrl, "must be an http or https URL").optional() })
    .prefault({}),
  audit: z.strictObject({ path: text }).optional(),
  logging: z
    .strictObject({
      level: z.enum(["debug", "info", "warn", "error", "silent"]).default("info"),
      redact_patterns: z.array(z.string()).optional(),
    })
    .prefault({}),
});

export type ConfigFile = z.output<typeof configSchema>;
export type ProviderBlock = ConfigFile["providers"][string];
