import { z } from "zod";
import { profileNames } from "../../internal/agents/known-programs.ts";
import { agentTokenBlock } from "../../internal/auth/agent-token-block.ts";
import { authBlock } from "../../internal/auth/auth-config.ts";
import { LOG_LEVELS } from "../../internal/cli/command/log-level.ts";
import { block, together } from "../../internal/config/block.ts";
import type { KeyPath } from "../../internal/config/config-document.ts";
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
import {
  DEFAULT_RESOURCES,
  DEFAULT_SIDECAR_RESOURCES,
  DEFAULT_USER,
  type Resources,
  WORKSPACE,
} from "../../internal/controller/pods/agent-template.ts";
import { isHostName } from "../../internal/pki/der/general-names.ts";
import { isTrustDomain } from "../../internal/pki/trust-domain.ts";

/** A DNS label: the form that Kubernetes requires of a namespace's name. */
const namespaceName = () => matching("the name of a namespace", /^(?!-)[a-z0-9-]{1,63}(?<!-)$/);
const objectName = () => matching("the name of a Kubernetes object", /^(?=.{1,253}$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);
const projectName = () => matching("1 to 128 letters, digits, dots, dashes", /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/);
const providerName = () => matching("lower-case letters, digits, dashes", /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
const quantity = () =>
  z.preprocess(
    (value) => (typeof value === "number" ? String(value) : value),
    matching("a quantity such as 500m, 2Gi", /^\d+(\.\d+)?([eE]\d+|m|k|[KMGTPE]i?)?$/),
  );
const quantities = () => z.record(text(), quantity());
/** A duration of at most ten years. */
const time = (least = "0s") => duration(least, "87600h");
const count = () => wholeNumber(1, 100_000);
const flag = () => z.boolean();

function matching(what: string, pattern: RegExp) {
  return text(what, (value) => pattern.test(value));
}

/** Refuses names with the prefixes of the sidecar's own settings, which the controller writes into the pod itself. */
const variableName = () =>
  matching("the name of an environment variable", /^[A-Za-z_][A-Za-z0-9_]*$/).refine(
    (name) => !/^(?:GT_|TMUX)/.test(name) && name !== "NODE_OPTIONS",
    { error: "is set by the pod itself" },
  );

const envSource = z.union([
  block({ secret: objectName(), optional: flag().default(false) }),
  block({ config_map: objectName(), optional: flag().default(false) }),
]);

const workspaceFolder = () =>
  text(
    `a folder below ${WORKSPACE}`,
    (path) =>
      /^\/workspace\/[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/.test(path) &&
      !path.split("/").some((part) => part === "." || part === ".."),
  );

const git = block({
  url: matching("a URL with https, ssh, git or file", /^(?:https|ssh|git|file):\/\/[^\s]+$/),
  ref: matching("a branch or a tag", /^(?!-)[^\x00-\x20\x7f~^:?*[\\]+$/).optional(),
  depth: wholeNumber(0, 2_147_483_647).default(1),
  path: workspaceFolder().default(`${WORKSPACE}/repo`),
  credentials_secret: objectName().optional(),
});

const workspace = together(
  block({ size: quantity().default("2Gi"), claim: objectName().optional(), git: git.optional() }),
  ["claim", "git"],
  ({ claim, git: clone }, wrong) => {
    if (claim !== undefined && clone !== undefined) wrong([], "takes a claim or git, not both");
  },
);

const toleration = block({
  key: z.string().exactOptional(),
  operator: oneOf("Exists", "Equal").exactOptional(),
  value: z.string().exactOptional(),
  effect: oneOf("NoSchedule", "PreferNoSchedule", "NoExecute").exactOptional(),
});

const resources = ({ requests, limits }: Resources) =>
  block({ requests: quantities().default({ ...requests }), limits: quantities().default({ ...limits }) });

const optionName = () =>
  matching("lower-case letters, digits, dashes, and not mode", /^(?!mode$)[a-z][a-z0-9_-]{0,62}$/);

const provider = block({
  image: text(),
  image_pull_policy: oneOf("Always", "IfNotPresent", "Never").optional(),
  image_pull_secrets: listOf(objectName(), "a list of Secrets").default([]),
  agent: oneOf(...profileNames).optional(),
  command: listOf(text(), "a program and its arguments").default([]),
  env: z.record(variableName(), z.string()).default({}),
  env_from: listOf(envSource, "a list of Secrets and ConfigMaps").default([]),
  options: z
    .record(optionName(), block({ env: variableName(), values: z.array(z.string()).min(1).exactOptional() }))
    .default({}),
  isolation: oneOf("embedded", "containers").default("embedded"),
  resources: resources(DEFAULT_RESOURCES),
  sidecar_resources: resources(DEFAULT_SIDECAR_RESOURCES),
  workspace,
  grace: time().default(20_000),
  user: wholeNumber(1, 4_294_967_294).nullable().default(DEFAULT_USER),
  service_account: objectName().optional(),
  node_selector: z.record(text(), z.string()).default({}),
  tolerations: listOf(toleration, "a list of tolerations").default([]),
  runtime_class: objectName().optional(),
  priority_class: objectName().optional(),
});

const namespace = block({
  name: namespaceName(),
  project: projectName(),
  providers: listOf(providerName(), "a list of providers").optional(),
  plaintext: flag().default(false),
  adopt: block({ accounts: listOf(text(), "a list of accounts").min(1, "must have an account") }).optional(),
});

const server = block({
  listen: address().default({ host: "0.0.0.0", port: 9445 }),
  health_listen: address().default({ host: "0.0.0.0", port: 9091 }),
  max_connection_age: time().default(0),
  names: listOf(text("a DNS name or an address", isHostName), "a list of names").default([]),
});

const logging = block({
  level: oneOf(...LOG_LEVELS).default("info"),
  redact_patterns: listOf(secretPattern(), "a list of patterns").optional(),
});

const secret = together(
  block({
    name: objectName(),
    owner: objectName().optional(),
    client: objectName().optional(),
    server: listOf(text("a DNS name or an address", isHostName), "a list of names")
      .min(1, "must have a name")
      .optional(),
    token_key: flag().default(false),
  }),
  ["client", "server", "token_key"],
  ({ client, server: names, token_key: isKey }, wrong) => {
    const given = [client !== undefined, names !== undefined, isKey].filter(Boolean).length;
    if (given !== 1) wrong(["name"], "needs one of client, server and token_key");
  },
);

/** The server for which agents get tools. */
const threads = (folder: string) => ({
  url: text("a URL with https", (given) => URL.parse(given)?.protocol === "https:").optional(),
  ca_path: filePath(folder).optional(),
});

/** The file of `gt-controller --config`. There is no key that turns a check off. */
export const controllerFile = (folder: string) => {
  const file = together(blockOf(folder), ["namespaces"], checkNames);
  return together(together(file, ["namespaces", "ca"], checkCa), ["namespaces", "providers"], checkProviders);
};

const blockOf = (folder: string) =>
  block({
    trust_domain: text("lower-case letters, digits, dots and dashes", isTrustDomain),
    server,
    ca: block({
      namespace: namespaceName(),
      secret: objectName(),
      reload: time("1s").default(15_000),
      keep_previous: time().default(90 * 86_400_000),
    }),
    auth: authBlock(folder).optional(),
    namespaces: listOf(namespace, "a list of namespaces").min(1, "must have a namespace"),
    providers: z.record(providerName(), provider).default({}),
    sessions: block({
      max_per_project: count().default(50),
      max_global: count().default(500),
      retention: time().default(600_000),
      start_timeout: time().default(300_000),
    }),
    limits: block({ starts_per_minute: count().default(60), inputs_per_minute: count().default(600) }),
    input: block({ max_size_bytes: byteCount(1, 65_536).default(65_536) }),
    clients: block({ direct_read: flag().default(true) }),
    session_tokens: agentTokenBlock(folder, "gastown", threads(folder)).optional(),
    secrets: listOf(secret, "a list of Secrets").default([]),
    bd: block({
      command: listOf(text(), "a program and its arguments").min(1, "must have a program"),
      workdir: text().optional(),
    }).optional(),
    tracing: block({ otlp_endpoint: baseUrl().optional() }),
    audit: block({ path: text() }).optional(),
    logging,
  });

export type ControllerValues = z.output<ReturnType<typeof controllerFile>>;
export type ProviderBlock = ControllerValues["providers"][string];

type Namespaces = readonly z.output<typeof namespace>[];
type Wrong = (path: KeyPath, reason: string) => void;

function checkNames({ namespaces }: { namespaces: Namespaces }, wrong: Wrong): void {
  for (const [i, { name }] of namespaces.entries()) {
    if (namespaces.findIndex((one) => one.name === name) === i) continue;
    wrong(["namespaces", i, "name"], `is bound twice: one namespace belongs to one project (${name})`);
  }
}

function checkCa({ namespaces, ca }: { namespaces: Namespaces; ca: { namespace: string } }, wrong: Wrong): void {
  for (const [i, { name }] of namespaces.entries()) {
    if (name !== ca.namespace) continue;
    wrong(["namespaces", i, "name"], `is the CA's namespace: agents there could mount its key (${name})`);
  }
}

function checkProviders(
  { namespaces, providers }: { namespaces: Namespaces; providers: Readonly<Record<string, unknown>> },
  wrong: Wrong,
): void {
  for (const [i, { providers: named = [] }] of namespaces.entries()) {
    for (const [k, id] of named.entries()) {
      if (providers[id] === undefined) wrong(["namespaces", i, "providers", k], `is not one of providers: ${id}`);
    }
  }
}
