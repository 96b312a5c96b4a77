import { DomainError } from "../../../internal/base/errors.ts";
import type { ObservedSecret } from "../../../internal/controller/certificates/certificate-policies.ts";
import type {
  SecretContent,
  SecretOwner,
  SecretStore,
  SeenVersion,
} from "../../../internal/controller/certificates/secret-store.ts";

/** The Secrets of one namespace with their preconditions, by name. Each write may be the last one before a crash. */
export class FakeSecrets implements SecretStore {
  readonly secrets = new Map<string, ObservedSecret>();
  /** The writes, in order. */
  readonly writes: string[] = [];
  /** The write with this number fails: its caller crashes there. */
  crashBefore: number | undefined;
  #version = 1;

  async get(_namespace: string, name: string): Promise<ObservedSecret | undefined> {
    return this.secrets.get(name);
  }

  async create(_namespace: string, secret: SecretContent): Promise<void> {
    this.beforeWrite(`create ${secret.name}`);
    if (this.secrets.has(secret.name)) throw new DomainError("already-exists", "it is there");
    this.#put(secret, `s${this.#version}`);
  }

  async replace(_namespace: string, secret: SecretContent, seen: SeenVersion): Promise<void> {
    this.beforeWrite(`replace ${secret.name}`);
    this.#check(secret.name, seen);
    this.#put(secret, seen.uid);
  }

  async patch(
    _namespace: string,
    name: string,
    data: Readonly<Record<string, string | undefined>>,
    seen: SeenVersion & { readonly owner?: SecretOwner },
  ) {
    this.beforeWrite(`patch ${name}`);
    this.#check(name, seen);
    const all = Object.entries({ ...this.secrets.get(name)?.data, ...data }).filter(([, text]) => text !== undefined);
    const owners = seen.owner && { owners: [seen.owner] };
    this.change(name, { data: Object.fromEntries(all) as Record<string, string>, ...owners });
  }

  async delete(_namespace: string, name: string, seen: SeenVersion): Promise<void> {
    this.beforeWrite(`delete ${name}`);
    this.#check(name, seen);
    this.secrets.delete(name);
  }

  /** Changes a Secret as a person would, by hand. */
  change(name: string, change: Partial<ObservedSecret>): void {
    const secret = this.secrets.get(name);
    if (secret !== undefined) this.secrets.set(name, { ...secret, ...change, resourceVersion: `${this.#version++}` });
  }

  protected beforeWrite(what: string): void {
    if (this.crashBefore === this.writes.length) throw new Error("crashed");
    this.writes.push(what);
  }

  #check(name: string, { uid, resourceVersion }: SeenVersion): void {
    const secret = this.secrets.get(name);
    if (secret?.uid !== uid || secret.resourceVersion !== resourceVersion)
      throw new DomainError("precondition", "changed");
  }

  #put({ name, labels, owner, data }: SecretContent, uid: string): void {
    const owners = owner ? [owner] : [];
    this.secrets.set(name, { name, uid, resourceVersion: `${this.#version++}`, labels, owners, deleting: false, data });
  }
}
