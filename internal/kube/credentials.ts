import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DomainError, errorText } from "../base/errors.ts";

/** Where the API server is, and what to show it. */
export interface ClusterAccess {
  /** `https://HOST:PORT`, possibly with a path in front of the API's own. */
  readonly server: string;
  readonly tls: ClusterTls;
  /** Authorization and impersonation. */
  readonly headers: Readonly<Record<string, string>>;
}

/** PEM texts. Undefined: the default of Node. */
export interface ClusterTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** Reads everything again at each call, so that a rotated token or CA is seen. @throws DomainError `precondition` */
export interface Credentials {
  access(): Promise<ClusterAccess>;
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Those of the pod's ServiceAccount. `host` and `port`: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. */
export function inClusterCredentials(host: string, port: string, folder = SERVICE_ACCOUNT): Credentials {
  const server = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  return {
    async access() {
      const [token, ca] = await Promise.all(["token", "ca.crt"].map((name) => text(join(folder, name))));
      return { server, tls: { ca: ca ?? "" }, headers: { authorization: `Bearer ${token?.trim()}` } };
    },
  };
}

async function text(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (err) {
    throw new DomainError("precondition", `cannot read ${path}: ${errorText(err)}`, { cause: err });
  }
}

/**
 * Those of a kubeconfig file: certificates, tokens, token files and exec plug-ins. `context`: another than its current one.
 * The file itself is read once. @throws DomainError `invalid`, `precondition`; `unimplemented` for a proxy-url
 */
export async function kubeconfigCredentials(path: string, context?: string): Promise<Credentials> {
  const { KubeConfig } = await import("@kubernetes/client-node"); // 0.9 s and 100 MB that a pod does without
  const config = new KubeConfig();
  try {
    config.loadFromFile(path);
  } catch (err) {
    throw new DomainError("invalid", `cannot read the kubeconfig ${path}: ${errorText(err)}`, { cause: err });
  }
  if (context !== undefined) config.setCurrentContext(context);
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    const name = config.getCurrentContext() ?? "";
    throw new DomainError("invalid", `the kubeconfig ${path} has no context ${JSON.stringify(name)} with a cluster`);
  }
  if (cluster.proxyUrl) throw new DomainError("unimplemented", `cannot use proxy-url of the kubeconfig ${path}`);
  return { access: () => accessOf(config, cluster.server) };
}

type ApplyOptions = import("@kubernetes/client-node").KubeConfig["applyToHTTPSOptions"];

async function accessOf(config: { applyToHTTPSOptions: ApplyOptions }, server: string): Promise<ClusterAccess> {
  const options: Parameters<ApplyOptions>[0] = {};
  try {
    await config.applyToHTTPSOptions(options);
  } catch (err) {
    throw new DomainError("precondition", `cannot read the credentials for ${server}: ${errorText(err)}`, {
      cause: err,
    });
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = String(value);
  if (options.auth) headers["authorization"] ??= `Basic ${Buffer.from(String(options.auth)).toString("base64")}`;
  const { ca, cert, key, servername, rejectUnauthorized } = options;
  const tls = {
    ...(ca ? { ca: String(ca) } : {}),
    ...(cert ? { cert: String(cert) } : {}),
    ...(key ? { key: String(key) } : {}),
    ...(servername ? { servername } : {}),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
  };
  return { server, tls, headers };
}
