import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { parse } from "yaml";
import { DomainError, errorText } from "../../base/errors.ts";
import { asObjects, asText, type Json, objectOf } from "../../base/json-fields.ts";
import type { ClusterAccess, ClusterTls, Credentials } from "./credentials.ts";
import { type ExecCredential, ExecPlugin } from "./exec-plugin.ts";

/**
 * The credentials of a kubeconfig file: certificates and keys, tokens, token files, passwords and exec plug-ins. The
 * file itself is read once; the files that it names are read each time. `context`: another than its current one. `env`:
 * of plug-ins.
 * @throws DomainError `invalid` for a file that cannot be used; `unimplemented` for a proxy-url, an
 * auth-provider, and a cluster whose certificate is not to be verified
 */
export async function kubeconfigCredentials(
  path: string,
  context?: string,
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<Credentials> {
  const config = await readKubeconfig(path);
  const name = context ?? asText(config["current-context"]);
  const chosen = entry(config, "context", name, path);
  const cluster = entry(config, "cluster", asText(chosen["cluster"]), path);
  const user = asText(chosen["user"]) === "" ? {} : entry(config, "user", asText(chosen["user"]), path);
  if (cluster["insecure-skip-tls-verify"] === true) throw unsupported("insecure-skip-tls-verify", path);
  if (cluster["proxy-url"]) throw unsupported("proxy-url", path);
  if (user["auth-provider"]) throw unsupported("auth-provider", path);
  const folder = dirname(path);
  const plugin = user["exec"] === undefined ? undefined : new ExecPlugin(objectOf(user["exec"]), folder, env);
  return new FileCredentials(folder, cluster, user, plugin);
}

class FileCredentials implements Credentials {
  readonly #folder: string;
  readonly #cluster: Json;
  readonly #user: Json;
  readonly #plugin: ExecPlugin | undefined;

  constructor(folder: string, cluster: Json, user: Json, plugin: ExecPlugin | undefined) {
    this.#folder = folder;
    this.#cluster = cluster;
    this.#user = user;
    this.#plugin = plugin;
  }

  async access(): Promise<ClusterAccess> {
    const [cluster, user] = [this.#cluster, this.#user];
    const plugin = await this.#plugin?.credential();
    const servername = asText(cluster["tls-server-name"]);
    const ca = await this.#pem(cluster, "certificate-authority");
    const cert = plugin?.certificate ?? (await this.#pem(user, "client-certificate"));
    const key = plugin?.key ?? (await this.#pem(user, "client-key"));
    const tls: ClusterTls = {
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(servername !== "" && { servername }),
    };
    return { server: asText(cluster["server"]), tls, headers: await this.#headers(plugin) };
  }

  async #headers(plugin: ExecCredential | undefined): Promise<Readonly<Record<string, string>>> {
    const user = this.#user;
    const as = asText(user["as"]);
    const impersonation = as === "" ? {} : { "impersonate-user": as };
    const file = asText(user["tokenFile"]);
    const token = plugin?.token || (file === "" ? asText(user["token"]) : (await this.#file(file)).trim());
    if (token !== "") return { ...impersonation, authorization: `Bearer ${token}` };
    const name = asText(user["username"]);
    if (name === "") return impersonation;
    const basic = Buffer.from(`${name}:${asText(user["password"])}`).toString("base64");
    return { ...impersonation, authorization: `Basic ${basic}` };
  }

  /** `NAME-data` goes before the file `NAME`. */
  async #pem(from: Json, name: string): Promise<string | undefined> {
    const data = asText(from[`${name}-data`]);
    if (data !== "") return Buffer.from(data, "base64").toString();
    const path = asText(from[name]);
    return path === "" ? undefined : await this.#file(path);
  }

  async #file(path: string): Promise<string> {
    const from = isAbsolute(path) ? path : join(this.#folder, path);
    try {
      return await readFile(from, "utf8");
    } catch (err) {
      throw new DomainError("precondition", `cannot read ${from}: ${errorText(err)}`, { cause: err });
    }
  }
}

/** What a kubeconfig file holds. @throws DomainError `invalid` */
export async function readKubeconfig(path: string): Promise<Json> {
  try {
    return objectOf(parse(await readFile(path, "utf8")));
  } catch (err) {
    throw new DomainError("invalid", `cannot read the kubeconfig ${path}: ${errorText(err)}`, { cause: err });
  }
}

function entry(config: Json, kind: "cluster" | "context" | "user", name: string, path: string): Json {
  const found = namedIn(config, kind, name);
  if (found !== undefined) return found;
  throw new DomainError("invalid", `the kubeconfig ${path} has no ${kind} ${JSON.stringify(name)}`);
}

/** The entry of that name; undefined: there is none. */
export function namedIn(config: Json, kind: "cluster" | "context" | "user", name: string): Json | undefined {
  const found = asObjects(config[`${kind}s`]).find((each) => each["name"] === name);
  return found && objectOf(found[kind]);
}

function unsupported(key: string, path: string): DomainError {
  return new DomainError("unimplemented", `cannot use ${key} of the kubeconfig ${path}`);
}
