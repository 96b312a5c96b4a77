import type { Agent } from "node:http";
import { join } from "node:path";
import { hostPort } from "../../base/text/host-name.ts";
import { readNamedFile } from "../../files/named-file.ts";

/** The address of the API server and the credentials for it. */
export interface ClusterAccess {
  /** `https://HOST:PORT`, possibly with a path before that of the API. */
  readonly server: string;
  readonly tls: ClusterTls;
  /** Headers for authorization and impersonation. */
  readonly headers: AccessHeaders;
  /** Proxy to the server: its URL, and a Node agent for it. Undefined: connect directly. */
  readonly proxy?: { readonly url: string; readonly agent: Agent } | undefined;
}

/** A header with a list of values is repeated. */
export type AccessHeaders = Readonly<Record<string, string | string[]>>;

/** PEM texts. Undefined: Node's default. */
export interface ClusterTls {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly servername?: string | undefined;
}

/**
 * Reads the sources again at each call, so that a rotated token or CA is noticed. @throws DomainError `precondition`
 */
export interface KubeCredentials {
  access(): Promise<ClusterAccess>;
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The pod's ServiceAccount. `host` and `port`: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. */
export function inClusterCredentials(host: string, port: string, folder = SERVICE_ACCOUNT): KubeCredentials {
  const server = `https://${hostPort(host, port)}`;
  return {
    async access() {
      const files = ["token", "ca.crt"].map((name) => readNamedFile(join(folder, name), "precondition"));
      const [token, ca] = await Promise.all(files);
      return { server, tls: { ca: ca ?? "" }, headers: { authorization: `Bearer ${token?.trim()}` } };
    },
  };
}
