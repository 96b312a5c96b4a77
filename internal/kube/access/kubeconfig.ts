import type { RequestOptions } from "node:https";
import { createSecureContext } from "node:tls";
import type { KubeConfig } from "@kubernetes/client-node";
import { DomainError, errorText } from "../../base/errors.ts";
import { asText, type Json, objectOf } from "../../base/json-fields.ts";
import { readNamedFile } from "../../files/named-file.ts";
import { readPem } from "../../pki/explain-pem.ts";
import type { AccessHeaders, ClusterAccess, ClusterTls, KubeCredentials } from "./credentials.ts";
import { type ExecCredential, ExecPlugin } from "./exec-plugin.ts";
import { type MergedConfig, readMergedConfig } from "./merged-config.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The credentials of a kubeconfig: certificates and keys, tokens, token files, passwords, exec plug-ins and OIDC, with
 * impersonation and a proxy. The kubeconfig is read once; the files that it names are read each time.
 * @param paths one file or several, separated by `:`
 * @param context default: the current context
 * @param env environment of plug-ins
 * @throws DomainError as `credentialsOf`, `readMergedConfig`
 */
export async function kubeconfigCredentials(paths: string, context?: string, env: Env = {}): Promise<KubeCredentials> {
  const config = await readMergedConfig(paths.split(":").filter((path) => path !== "")).catch((err: unknown) => {
    if (!(err instanceof DomainError) || err.kind !== "precondition") throw err;
    throw new DomainError("invalid", `cannot read the kubeconfig ${paths}: there is no such file`, { cause: err });
  });
  return await credentialsOf(config, context ?? config.current, env);
}

/**
 * The credentials of one context.
 * @throws DomainError `invalid` for a name that the file does not define; `unimplemented` for a cluster whose
 * certificate is not to be verified
 */
export async function credentialsOf(config: MergedConfig, name: string, env: Env): Promise<KubeCredentials> {
  const context = entryOf(config, "context", name);
  const cluster = entryOf(config, "cluster", asText(context["cluster"]));
  const userName = asText(context["user"]);
  const user = userName === "" ? {} : entryOf(config, "user", userName);
  if (cluster["insecure-skip-tls-verify"] === true) {
    throw new DomainError("unimplemented", `cannot use insecure-skip-tls-verify of the kubeconfig ${config.paths}`);
  }
  const exec = user["exec"] ? new ExecPlugin(objectOf(user["exec"]), config.folderOf(user), env) : undefined;
  await pemsOf(cluster, user);
  const library = user["auth-provider"] || cluster["proxy-url"] ? await opened(config.paths, cluster, user) : undefined;
  return new FileCredentials(cluster, user, exec, library);
}

/** The part of client-node's KubeConfig that is used. */
type Library = () => Pick<KubeConfig, "applyToHTTPSOptions">;

/** Loads client-node, which takes half as long as loading all of `gt`: only for identity providers and proxies. */
async function opened(paths: string, cluster: Json, user: Json): Promise<Library> {
  const { KubeConfig } = await import("@kubernetes/client-node/dist/config.js");
  const known = new KubeConfig();
  const text = JSON.stringify({
    clusters: [{ name: "cluster", cluster }],
    users: [{ name: "user", user: { ...user, exec: undefined } }],
    contexts: [{ name: "context", context: { cluster: "cluster", user: "user" } }],
    "current-context": "context",
  });
  try {
    known.loadFromString(text);
  } catch (err) {
    throw new DomainError("invalid", `cannot use the kubeconfig ${paths}: ${errorText(err)}`, { cause: err });
  }
  // A new object each time, because a proxy agent keeps the certificate with which it was created. Tokens stay in the
  // users, which all objects share.
  return () => {
    const { clusters, users, contexts, currentContext } = known;
    const next = new KubeConfig();
    next.loadFromOptions({ clusters, users, contexts, currentContext });
    return next;
  };
}

class FileCredentials implements KubeCredentials {
  readonly #cluster: Json;
  readonly #user: Json;
  readonly #plugin: ExecPlugin | undefined;
  readonly #library: Library | undefined;

  constructor(cluster: Json, user: Json, plugin: ExecPlugin | undefined, library: Library | undefined) {
    this.#cluster = cluster;
    this.#user = user;
    this.#plugin = plugin;
    this.#library = library;
  }

  async access(): Promise<ClusterAccess> {
    const [cluster, user] = [this.#cluster, this.#user];
    const plugin = await this.#plugin?.credential();
    const servername = asText(cluster["tls-server-name"]) || undefined;
    const own = await pemsOf(cluster, user);
    const { ca } = own;
    const cert = plugin?.certificate ?? own.cert;
    const key = plugin?.key ?? own.key;
    const tls: ClusterTls = { ca, cert, key, servername };
    const { proxy, authorization } = await this.#ofLibrary();
    const known = (await authorizationOf(user, plugin)) ?? authorization;
    return {
      server: asText(cluster["server"]),
      tls,
      headers: { ...impersonated(user), ...(known !== undefined && { authorization: known }) },
      proxy,
    };
  }

  async #ofLibrary(): Promise<Pick<ClusterAccess, "proxy"> & { readonly authorization?: string | undefined }> {
    if (this.#library === undefined) return {};
    const options: RequestOptions & { headers: Record<string, string> } = { headers: {} };
    try {
      await this.#library().applyToHTTPSOptions(options);
    } catch (err) {
      throw new DomainError("precondition", `cannot use the kubeconfig: ${errorText(err)}`, { cause: err });
    }
    const { agent, headers } = options;
    const url = asText(this.#cluster["proxy-url"]);
    const authorization = headers["Authorization"];
    return { proxy: url !== "" && typeof agent === "object" ? { url, agent } : undefined, authorization };
  }
}

/** The `Authorization` header from the plug-in, the token file, the token or the password, in this order. */
async function authorizationOf(user: Json, plugin: ExecCredential | undefined): Promise<string | undefined> {
  const file = asText(user["tokenFile"]);
  const token =
    plugin?.token || (file === "" ? asText(user["token"]) : (await readNamedFile(file, "precondition")).trim());
  if (token !== "") return `Bearer ${token}`;
  const name = asText(user["username"]);
  if (name === "") return undefined;
  return `Basic ${Buffer.from(`${name}:${asText(user["password"])}`).toString("base64")}`;
}

/**
 * The PEM texts of a cluster and its user.
 * @throws DomainError `invalid` that names the file, or the key of the kubeconfig, if OpenSSL cannot use it;
 * `precondition` for a file that cannot be read
 */
async function pemsOf(cluster: Json, user: Json): Promise<Pick<ClusterTls, "ca" | "cert" | "key">> {
  const [ca, cert, key] = await Promise.all([
    pemOf(cluster, "certificate-authority", "certificate"),
    pemOf(user, "client-certificate", "certificate"),
    pemOf(user, "client-key", "key"),
  ]);
  if (cert !== undefined && key !== undefined && !isPair(cert.text, key.text)) {
    throw new DomainError("invalid", `${key.name} is not the key of ${cert.name}`);
  }
  return { ca: ca?.text, cert: cert?.text, key: key?.text };
}

function isPair(cert: string, key: string): boolean {
  try {
    return createSecureContext({ cert, key }) !== undefined;
  } catch {
    return false;
  }
}

interface NamedPem {
  /** The file, or the key of the kubeconfig that contains the text. */
  readonly name: string;
  readonly text: string;
}

/** `NAME-data` takes precedence over the file `NAME`. */
async function pemOf(from: Json, key: string, kind: "certificate" | "key"): Promise<NamedPem | undefined> {
  const data = asText(from[`${key}-data`]);
  const path = asText(from[key]);
  if (data === "" && path === "") return undefined;
  const name = data === "" ? path : `${key}-data of the kubeconfig`;
  const text = data === "" ? await readNamedFile(path, "precondition") : Buffer.from(data, "base64").toString();
  readPem(text, kind, name, loaded);
  return { name, text };

  /** Parses with OpenSSL, as the connection does: text around the blocks, for example, is ignored. */
  function loaded(): void {
    if (text.trim() === "") throw new DomainError("invalid", "it is empty");
    createSecureContext(kind === "key" ? { key: text } : { cert: text });
  }
}

/** Impersonation headers. */
function impersonated(user: Json): AccessHeaders {
  const as = asText(user["as"]);
  if (as === "") return {};
  const groups = (Array.isArray(user["as-groups"]) ? user["as-groups"] : []).map(String);
  const uid = asText(user["as-uid"]);
  const extra = Object.entries(objectOf(user["as-user-extra"])).map(([name, values]) => [
    `impersonate-extra-${encodeURIComponent(name.toLowerCase())}`,
    [values].flat().map(String),
  ]);
  return {
    "impersonate-user": as,
    ...(groups.length > 0 && { "impersonate-group": groups }),
    ...(uid !== "" && { "impersonate-uid": uid }),
    ...Object.fromEntries(extra),
  };
}

function entryOf(config: MergedConfig, kind: "cluster" | "context" | "user", name: string): Json {
  const found = config[`${kind}s`].get(name);
  if (found !== undefined) return found;
  throw new DomainError("invalid", `the kubeconfig ${config.paths} has no ${kind} ${JSON.stringify(name)}`);
}
