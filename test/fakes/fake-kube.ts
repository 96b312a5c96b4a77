import type { KubeApi, KubeRequest } from "../../internal/kube/kube-api.ts";
import { KubeApiError, KubeUnreachableError, statusAnswer } from "../../internal/kube/kube-errors.ts";

/** An object as the API server stores it. */
export interface FakeObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string | undefined;
    readonly resourceVersion?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly uid: string }[];
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** The outcome of a request instead of an answer. `hang`: nothing until it is aborted. */
export type Fault =
  | { readonly status: number; readonly reason?: string; readonly message?: string; readonly retryAfterMs?: number }
  | "reset"
  | "hang";

interface LoggedEvent {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly collection: string;
  readonly object: FakeObject;
  readonly before?: FakeObject | undefined;
}

/**
 * An API server in memory, with paged lists, watches, optimistic concurrency, preconditions and owners, and with
 * faults.
 */
export class FakeKube implements KubeApi {
  unansweredAtMs: number | undefined;
  /** Called before each request is answered. */
  fault: (request: KubeRequest) => Fault | undefined = () => undefined;
  /** Called after each successful request. */
  after: (request: KubeRequest) => void = () => {};
  readonly requests: KubeRequest[] = [];
  readonly watches: FakeWatch[] = [];
  readonly #objects = new Map<string, FakeObject>();
  readonly #snapshots = new Map<string, readonly FakeObject[]>();
  readonly #now: () => number;
  #log: LoggedEvent[] = [];
  #version = 1;
  #compacted = 0;
  #uids = 0;

  /** `now`: wall clock, for the creation times of objects. */
  constructor(now: () => number = () => 0) {
    this.#now = now;
  }

  /** Creates or replaces an object, as another client would. `collection`: `/api/v1/namespaces/a/pods`. */
  set(collection: string, object: FakeObject): FakeObject {
    const before = this.#objects.get(`${collection}/${object.metadata.name}`);
    const namespace = /\/namespaces\/([^/]+)\//.exec(collection)?.[1] ?? "";
    const uid = object.metadata.uid ?? before?.metadata.uid ?? `uid-${++this.#uids}`;
    const creationTimestamp =
      before?.metadata["creationTimestamp"] ?? new Date(this.#now()).toISOString().replace(/\.\d+/, "");
    const own = { namespace, uid, creationTimestamp, resourceVersion: String(++this.#version) };
    const metadata = { ...object.metadata, ...own };
    const kept = { ...object, metadata };
    this.#objects.set(`${collection}/${object.metadata.name}`, kept);
    this.#publish(before === undefined ? "ADDED" : "MODIFIED", collection, kept, before);
    return kept;
  }

  delete(collection: string, name: string): void {
    const before = this.#objects.get(`${collection}/${name}`);
    if (before === undefined) return;
    this.#objects.delete(`${collection}/${name}`);
    const metadata = { ...before.metadata, resourceVersion: String(++this.#version) };
    this.#publish("DELETED", collection, { ...before, metadata });
    for (const [path, object] of [...this.#objects]) {
      const isOwned = object.metadata.ownerReferences?.some(({ uid }) => uid === before.metadata.uid) ?? false;
      if (isOwned) this.delete(path.slice(0, path.lastIndexOf("/")), object.metadata.name);
    }
  }

  get(path: string): FakeObject | undefined {
    return this.#objects.get(path);
  }

  list(collection: string): readonly FakeObject[] {
    return [...this.#objects].filter(([path]) => parent(path) === collection).map(([, object]) => object);
  }

  /** Forgets the past: a client that resumes from it gets 410. */
  compact(): void {
    this.#compacted = this.#version;
    this.#log = [];
  }

  /** Sends all watches their present position. */
  bookmark(): void {
    const object = { metadata: { resourceVersion: String(++this.#version) } };
    for (const watch of this.watches) watch.send({ type: "BOOKMARK", object });
  }

  /** Changes the objects without any event, as a broken watch would. */
  changeUnseen(change: () => void): void {
    const open = this.watches.splice(0);
    change();
    this.watches.push(...open);
  }

  async call(request: KubeRequest, signal: AbortSignal): Promise<unknown> {
    request.beforeAttempt?.();
    this.requests.push(request);
    signal.throwIfAborted();
    await this.#suffer(request, signal);
    const answer = structuredClone(this.#answer(request));
    this.after(request);
    return request.keep === undefined ? answer : { ...(answer as object), items: kept(answer, request.keep) };
  }

  async *stream(request: KubeRequest, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    this.requests.push(request);
    await this.#suffer(request, signal);
    const from = Number(request.query?.["resourceVersion"]);
    if (from < this.#compacted) throw failure(request, { status: 410, reason: "Expired" });
    const watch = new FakeWatch();
    for (const event of this.#log) if (event.version > from) watch.sendAsSeen(event, request);
    const stopped = () => watch.end({ type: "failed", err: signal.reason });
    signal.addEventListener("abort", stopped, { once: true });
    this.watches.push(watch.of(request));
    try {
      yield new Uint8Array();
      yield* watch.chunks();
    } finally {
      signal.removeEventListener("abort", stopped);
      const index = this.watches.indexOf(watch);
      if (index >= 0) this.watches.splice(index, 1);
    }
  }

  async #suffer(request: KubeRequest, signal: AbortSignal): Promise<void> {
    const fault = this.fault(request);
    if (fault === "hang") {
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
    }
    if (fault !== undefined) throw failure(request, fault);
  }

  #answer(request: KubeRequest): unknown {
    const { method, path } = request;
    if (method === "POST") return this.#create(request);
    const object = this.#objects.get(path);
    if (method === "GET" && /\/[a-z]+s$/.test(path) && object === undefined) return this.#page(request);
    if (object === undefined) throw failure(request, { status: 404, reason: "NotFound" });
    if (method === "GET") return object;
    const body = (request.body ?? {}) as FakeObject & { preconditions?: { uid?: string; resourceVersion?: string } };
    const wanted = method === "DELETE" ? body.preconditions : body.metadata;
    const isCurrent = [wanted?.uid ?? object.metadata.uid, wanted?.resourceVersion ?? object.metadata.resourceVersion];
    if (isCurrent[0] !== object.metadata.uid || isCurrent[1] !== object.metadata.resourceVersion) {
      throw failure(request, { status: 409, reason: "Conflict" });
    }
    if (method === "DELETE") return this.delete(parent(path), object.metadata.name);
    return this.set(parent(path), method === "PATCH" ? (merged(object, body) as FakeObject) : body);
  }

  #create(request: KubeRequest): FakeObject {
    const object = request.body as FakeObject;
    const exists = this.#objects.has(`${request.path}/${object.metadata.name}`);
    if (exists) throw failure(request, { status: 409, reason: "AlreadyExists" });
    return this.set(request.path, structuredClone(object));
  }

  #page(request: KubeRequest): unknown {
    const { limit = 500, continue: token } = request.query ?? {};
    const [snapshot, start] = token === undefined ? ["", 0] : JSON.parse(String(token));
    const version = snapshot === "" ? String(this.#version) : snapshot;
    if (Number(version) < this.#compacted) throw failure(request, { status: 410, reason: "Expired" });
    const held = this.#snapshots.get(`${request.path} ${version}`) ?? this.list(request.path);
    const all = held.filter((object) => hasLabels(object, request));
    const next = start + Number(limit);
    if (next >= all.length) return { items: all.slice(start), metadata: { resourceVersion: version } };
    this.#snapshots.set(`${request.path} ${version}`, held);
    const metadata = { resourceVersion: version, continue: JSON.stringify([version, next]) };
    return { items: all.slice(start, next), metadata };
  }

  #publish(type: LoggedEvent["type"], collection: string, object: FakeObject, before?: FakeObject): void {
    const event = { version: this.#version, type, collection, object, before };
    this.#log.push(event);
    for (const watch of this.watches) watch.sendAsSeen(event, watch.request);
  }
}

/** One open watch, controlled by the test. */
export class FakeWatch {
  request: KubeRequest = { method: "GET", path: "" };
  /** Sends nothing and keeps the connection open. */
  isSilent = false;
  #queue: Uint8Array[] = [];
  #end: { readonly type: "ended" } | { readonly type: "failed"; readonly err: unknown } | undefined;
  #wake = () => {};

  of(request: KubeRequest): this {
    this.request = request;
    return this;
  }

  /** For this watch an object is deleted when it loses the requested labels, and added when it gets them. */
  sendAsSeen(event: LoggedEvent, request: KubeRequest): void {
    if (event.collection !== request.path) return;
    const isSeen = hasLabels(event.object, request);
    const wasSeen = event.before === undefined ? event.type !== "ADDED" : hasLabels(event.before, request);
    if (!isSeen && !wasSeen) return;
    const change = isSeen && !wasSeen ? "ADDED" : !isSeen ? "DELETED" : event.type;
    this.send({ type: change, object: event.object });
  }

  send({ type, object }: { readonly type: string; readonly object: object }): void {
    this.raw(`${JSON.stringify({ type, object })}\n`);
  }

  raw(bytes: string | Uint8Array): this {
    if (!this.isSilent) this.#queue.push(Buffer.from(bytes as Uint8Array));
    this.#wake();
    return this;
  }

  /** Ends as a server ends a watch normally. */
  close(): void {
    this.end({ type: "ended" });
  }

  reset(): void {
    this.end({ type: "failed", err: failure(this.request, "reset") });
  }

  end(how: { readonly type: "ended" } | { readonly type: "failed"; readonly err: unknown }): void {
    this.#end ??= how;
    this.#wake();
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      for (let chunk = this.#queue.shift(); chunk !== undefined; chunk = this.#queue.shift()) yield chunk;
      if (this.#end?.type === "failed") throw this.#end.err;
      if (this.#end?.type === "ended") return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

function failure(request: KubeRequest, fault: Fault): Error {
  const action = `${request.method} ${request.path}`;
  if (typeof fault === "string") return new KubeUnreachableError(action, { code: "ECONNRESET" });
  return new KubeApiError(action, fault.status, statusAnswer(fault), fault.retryAfterMs);
}

function hasLabels(object: FakeObject, request: KubeRequest): boolean {
  const wanted = String(request.query?.["labelSelector"] ?? "");
  const labels = object.metadata.labels ?? {};
  return wanted.split(",").every((term) => {
    if (term.startsWith("!")) return !(term.slice(1) in labels);
    const [name = "", value] = term.split("=");
    return name === "" || (value === undefined ? name in labels : labels[name] === value);
  });
}

function kept(answer: unknown, keep: NonNullable<KubeRequest["keep"]>): unknown {
  const { items } = answer as { readonly items?: unknown };
  return Array.isArray(items) ? items.map(keep) : items;
}

/** A merge patch; of a strategic patch only the deletion of list items by name. */
function merged(target: unknown, patch: unknown): unknown {
  if (Array.isArray(patch) && patch.some((item) => item?.$patch === "delete")) {
    const gone = new Set(patch.map(({ name }) => name));
    return (Array.isArray(target) ? target : []).filter(({ name }) => !gone.has(name));
  }
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> = { ...(typeof target === "object" ? target : {}) };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  }
  return result;
}

function parent(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}
