import type { Agent } from "node:http";
import { join } from "node:path";
import { readNamedFile } from "../../files/named-file.ts";

/** Where the API server is, and what to show it. */
export interface ClusterAccess {
  /** `https://HOST:PORT`, possibly with a path in front of the API's own. */
  readonly server: string;
  readonly tls: ClusterTls;
  /** Authorization and impersonation. */
  readonly headers: AccessHeaders;
  /** Through which the server is reached: its URL, and the same as an agent of Node's. Undefined: directly. */
  readonly proxy?: { readonly url: string; readonly agent: Agent };
}

/** A list: the header is repeated. */
export type AccessHeaders = Readonly<Record<string, string | string[]>>;

/** PEM texts. Undefined: the default of Node. */
export interface ClusterTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
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
      const files = ["token", "ca.crt"].map((name) => readNamedFile(join(folder, name), "precondition"));
      const [token, ca] = await Promise.all(files);
      return { server, tls: { ca: ca ?? "" }, headers: { authorization: `Bearer ${token?.trim()}` } };
    },
  };
}
