import type { KubeApi } from "../../kube/kube-api.ts";
import { isFault } from "../../kube/kube-errors.ts";
import type { ObservedSecret } from "./certificate-policies.ts";
import type { SecretContent, SecretOwner, SecretStore, SeenVersion } from "./secret-store.ts";

type Json = Readonly<Record<string, unknown>>;

const TYPE = "Opaque";

/** Secrets through the Kubernetes API. */
export class SecretClient implements SecretStore {
  readonly #api: KubeApi;

  constructor(api: KubeApi) {
    this.#api = api;
  }

  async get(namespace: string, name: string, signal: AbortSignal): Promise<ObservedSecret | undefined> {
    try {
      return observeSecret(await this.#api.call({ method: "GET", path: secretsPath(namespace, name) }, signal));
    } catch (err) {
      if (isFault(err, "not-found")) return undefined;
      throw err;
    }
  }

  async create(namespace: string, secret: SecretContent, signal: AbortSignal): Promise<void> {
    await this.#api.call({ method: "POST", path: secretsPath(namespace), body: bodyOf(secret) }, signal);
  }

  async replace(namespace: string, secret: SecretContent, seen: SeenVersion, signal: AbortSignal): Promise<void> {
    const path = secretsPath(namespace, secret.name);
    await this.#api.call({ method: "PUT", path, body: bodyOf(secret, seen) }, signal);
  }

  async patch(
    namespace: string,
    name: string,
    data: Readonly<Record<string, string | undefined>>,
    { uid, resourceVersion, owner }: SeenVersion & { readonly owner?: SecretOwner },
    signal: AbortSignal,
  ): Promise<void> {
    const ownerReferences = owner && [{ apiVersion: "v1", ...owner }];
    const values = Object.entries(data).map(([key, text]) => [key, text === undefined ? null : base64Of(text)]);
    const metadata = { uid, resourceVersion, ...(ownerReferences && { ownerReferences }) };
    const body = { metadata, data: Object.fromEntries(values) };
    const path = secretsPath(namespace, name);
    await this.#api.call({ method: "PATCH", path, contentType: "application/merge-patch+json", body }, signal);
  }

  async delete(
    namespace: string,
    name: string,
    { uid, resourceVersion }: SeenVersion,
    signal: AbortSignal,
  ): Promise<void> {
    const body = { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid, resourceVersion } };
    try {
      await this.#api.call({ method: "DELETE", path: secretsPath(namespace, name), body }, signal);
    } catch (err) {
      if (!isFault(err, "not-found")) throw err;
    }
  }
}

/** The path of all Secrets of a namespace, or of one. */
export function secretsPath(namespace: string, name?: string): string {
  const all = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
  return name === undefined ? all : `${all}/${encodeURIComponent(name)}`;
}

function bodyOf({ name, labels, owner, data }: SecretContent, seen?: SeenVersion): Json {
  // Only these two fields of `seen`, which may be a whole Secret.
  const current = seen && { uid: seen.uid, resourceVersion: seen.resourceVersion };
  const ownerReferences = owner && [{ apiVersion: "v1", ...owner }];
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: TYPE,
    metadata: { name, labels, ownerReferences, ...current },
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64Of(text)])),
  };
}

function base64Of(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** Parses a Secret. Missing fields count as empty. */
function observeSecret(value: unknown): ObservedSecret {
  const { metadata, data, immutable, type } = value as Json & {
    readonly metadata?: Json;
    readonly data?: Readonly<Record<string, string>>;
  };
  const meta = metadata ?? {};
  const owners = Array.isArray(meta["ownerReferences"]) ? meta["ownerReferences"] : [];
  return {
    name: String(meta["name"]),
    uid: String(meta["uid"]),
    resourceVersion: String(meta["resourceVersion"]),
    labels: (meta["labels"] ?? {}) as Readonly<Record<string, string>>,
    owners: owners.map(({ kind, name, uid }: Json) => ({ kind: String(kind), name: String(name), uid: String(uid) })),
    deleting: meta["deletionTimestamp"] !== undefined,
    fixed: immutable === true || (type ?? TYPE) !== TYPE,
    data: Object.fromEntries(
      Object.entries(data ?? {}).map(([key, base64]) => [key, Buffer.from(base64, "base64").toString()]),
    ),
  };
}
