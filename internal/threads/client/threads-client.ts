import { createPrivateKey } from "node:crypto";
import { userInfo } from "node:os";
import { resolve } from "node:path";
import { rootCertificates } from "node:tls";
import { type DescMethodUnary, fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { createClient, type Interceptor } from "@connectrpc/connect";
import { signingKeyOf } from "../../auth/mint-token.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { asObjects, asText, objectOf } from "../../base/json-fields.ts";
import { readNamedFileSync } from "../../files/named-file.ts";
import { ThreadsService, WatchThreadsResponseSchema } from "../../gen/threads/v1/threads_pb.ts";
import { readPem } from "../../pki/explain-pem.ts";
import { certificatesOf } from "../../pki/pem.ts";
import { abortOnExit, sidecarTransport } from "../../rpc/client/transport.ts";
import { domainErrorOf } from "../../rpc/common/errors.ts";
import { plainJson } from "../../rpc/common/plain-json.ts";
import type { ClientTls } from "../../rpc/common/tls.ts";
import { isAgentId } from "./agent-id.ts";
import { type LocalToken, mintFor, mintLocal, PERSON_TTL_MS } from "./local-issuer.ts";
import { localServer, stateDirs } from "./local-server.ts";
import { checkServerUrl } from "./server-url.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** CAs, client certificate and its key, in PEM. */
export type ThreadsTls = Pick<ClientTls, "ca" | "cert" | "key">;

/** Flags that name a server, the file with its CA, and the files with a client certificate and its key. */
export interface ThreadsFlags {
  readonly threads?: string;
  readonly ca?: string | undefined;
  readonly cert?: string;
  readonly key?: string;
  /** Reads the person's profile; called only if flags and environment name no server or no token file. */
  readonly kept?: () => ThreadsProfile;
}

/** The settings of a profile: a server, and the key with which a person signs tokens for it. */
interface ThreadsProfile {
  readonly threads?: string;
  /** The person's id on the server. */
  readonly person?: string;
  /** File with an Ed25519 key (PEM), the issuer that it belongs to, and the workspace of its tokens. */
  readonly "jwt-key"?: string;
  readonly "jwt-issuer"?: string;
  readonly project?: string;
}

/** A server of threads and how to authenticate to it. */
export interface ThreadsPlace {
  readonly url: string;
  /** For https: the trusted CAs and a client certificate. Undefined: the system's CAs and no certificate. */
  readonly tls?: ThreadsTls | undefined;
  /** The paths of the TLS files, by the environment variables in which other programs expect them. */
  readonly files?: Readonly<Record<string, string>>;
  /** Returns a valid token; called for each request. @throws DomainError `unauthenticated` */
  readonly token: () => string;
}

const CALL_MS = 35_000;
const MAX_TOKEN_BYTES = 8192;
const FILE_VARIABLE = "GT_THREADS_TOKEN_FILE";

/**
 * Finds a server and a token for it. The server is the given one, else the profile's, else the local one. The token is
 * read from the file in GT_THREADS_TOKEN_FILE, else signed with the profile's key, else signed with this machine's key
 * for people. The profile's key is not used for a local server that the profile does not name. The CAs are the given
 * ones, else those that a local server names. The environment (GT_THREADS, GT_THREADS_CA, _CERT, _KEY) applies where
 * flags are absent.
 * @throws DomainError `unavailable` if no server is given and none is running; `unauthenticated` without a token;
 * `invalid` for files that cannot be used, and for plaintext to another machine
 */
export function findThreads(env: Env, clock: Clock, given: ThreadsFlags): ThreadsPlace {
  const file = env[FILE_VARIABLE] || undefined;
  const url = given.threads ?? (env["GT_THREADS"] || undefined);
  const kept = (url === undefined || file === undefined ? given.kept?.() : undefined) ?? {};
  const local = stateDirs(env)
    .map((stateDir) => ({ stateDir, server: localServer(stateDir) }))
    .find((one): one is LocalPlace => one.server !== undefined);
  const where = url ?? kept.threads ?? local?.server.url;
  if (where === undefined) {
    throw new DomainError("unavailable", "no threads server runs on this machine", {
      fields: {
        hint: "start one: threads, or give --threads URL (GT_THREADS), or store it: gt config set threads URL",
      },
    });
  }
  checkServerUrl(where);
  const isSecure = where.startsWith("https:");
  const files = isSecure ? filesOf(given, env, where === local?.server.url ? local.server : {}) : {};
  const tls = tlsOf(files);
  const at = { url: where, files, tls };
  if (file !== undefined) return { ...at, token: () => tokenOf(file) };
  const session = `gt-${process.pid}`;
  const who = { agent: personName(env, kept), role: "operator", session, ttlMs: PERSON_TTL_MS };
  const isLocal = where === local?.server.url && where !== kept.threads;
  const token = (isLocal ? undefined : signedBy(kept, who, clock)) ?? localToken(local, who, clock);
  if (token !== undefined) return { ...at, token };
  throw new DomainError("unauthenticated", `there is no token for ${where}`, {
    fields: {
      hint: `name a file with one in ${FILE_VARIABLE} (threads token makes it), or store your key: gt config set jwt-key, jwt-issuer and project`,
    },
  });
}

interface LocalPlace {
  readonly stateDir: string;
  readonly server: NonNullable<ReturnType<typeof localServer>>;
}

type Person = Omit<LocalToken, "kind" | "workspace">;

/** Undefined: the profile lacks the key, its issuer or the workspace. */
function signedBy(kept: ThreadsProfile, who: Person, clock: Clock): (() => string) | undefined {
  const { "jwt-key": path, "jwt-issuer": issuer, project: workspace } = kept;
  if (path === undefined || issuer === undefined || workspace === undefined) return undefined;
  return () => mintFor(signingKeyOf(readNamedFileSync(path), path), issuer, { ...who, workspace }, clock.now());
}

function localToken(local: LocalPlace | undefined, who: Person, clock: Clock): (() => string) | undefined {
  if (local === undefined) return undefined;
  const { stateDir, server } = local;
  return () => mintLocal(stateDir, { ...who, kind: "person", workspace: server.workspace }, clock.now());
}

/** Calls ThreadsService by the names of the operations, with the JSON of `docs/protocols/threads.md`. */
export class ThreadsClient implements Disposable {
  readonly #connection: ReturnType<typeof sidecarTransport>;
  readonly #url: string;

  constructor({ url, tls, token }: ThreadsPlace) {
    const showing: Interceptor = (next) => (req) => {
      req.header.set("authorization", `Bearer ${token()}`);
      return next(req);
    };
    this.#url = url;
    this.#connection = sidecarTransport({ baseUrl: url, interceptors: [showing], tls });
  }

  /**
   * Calls a unary operation. Fields of `input` that are undefined are not sent.
   * @throws DomainError with the server's code in the field `code`; `unavailable` if the server does not answer
   */
  async call(name: string, input: object, signal: AbortSignal): Promise<JsonObject> {
    const found = ThreadsService.methods.find((one) => one.localName === camelCase(name));
    if (found === undefined || found.methodKind !== "unary") throw new Error(`no operation ${name}`);
    const method = found as DescMethodUnary;
    try {
      const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
      const request = fromJson(method.input, given as JsonValue);
      const { message } = await this.#connection.transport.unary(method, signal, CALL_MS, undefined, request);
      return plainJson(method.output, message, { defaults: true }) as JsonObject;
    } catch (err) {
      throw this.#explained(err, signal);
    }
  }

  /**
   * Yields the updates of WatchThreads. When the token expires, opens a new stream with a new token. `after`: by
   * thread, the seq after which to send messages; kept up to date.
   * @throws as `call`
   */
  async *watch(after: Map<string, number>, signal: AbortSignal): AsyncGenerator<JsonObject, void, undefined> {
    const client = createClient(ThreadsService, this.#connection.transport);
    for (let hasBegun = false; ; hasBegun = false) {
      const seqs = Object.fromEntries([...after].map(([threadId, seq]) => [threadId, BigInt(seq)]));
      try {
        const open = (left: AbortSignal) => client.watchThreads({ after: seqs }, { signal: left });
        for await (const update of abortOnExit(open, signal)) {
          hasBegun = true;
          const json = plainJson(WatchThreadsResponseSchema, update, { defaults: true }) as JsonObject;
          noteSeqs(after, json);
          yield json;
        }
        return;
      } catch (err) {
        const why = this.#explained(err, signal);
        if (!hasBegun || !(why instanceof DomainError) || why.fields["code"] !== "UNAUTHORIZED") throw why;
      }
    }
  }

  #explained(err: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    const known = domainErrorOf(err);
    if (!(known instanceof DomainError) || known.kind !== "unavailable" || "code" in known.fields) return known;
    return new DomainError("unavailable", `${this.#url}: ${known.message}`, {
      fields: { hint: "is threads running there? threads doctor looks at it", ...known.fields },
      cause: err,
    });
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]();
  }
}

/** Records a message's seq, or the last seq of those threads of a snapshot that `after` does not contain yet. */
function noteSeqs(after: Map<string, number>, { message, snapshot }: JsonObject): void {
  const one = objectOf(message);
  if (message !== undefined) after.set(asText(one["thread_id"]), Number(one["seq"]));
  for (const thread of asObjects(objectOf(snapshot)["threads"])) {
    const threadId = asText(thread["thread_id"]);
    if (!after.has(threadId)) after.set(threadId, Number(thread["last_seq"]));
  }
}

/** The paths of the given TLS files, by environment variable. @throws DomainError `invalid` */
function filesOf(
  given: ThreadsFlags,
  env: Env,
  local: { readonly ca?: string | undefined },
): Readonly<Record<string, string>> {
  const ca = given.ca ?? (env["GT_THREADS_CA"] || local.ca);
  const cert = given.cert ?? (env["GT_THREADS_CERT"] || undefined);
  const key = given.key ?? (env["GT_THREADS_KEY"] || undefined);
  if ((cert === undefined) !== (key === undefined)) throw new DomainError("invalid", "--cert and --key come together");
  const files = { GT_THREADS_CA: ca, GT_THREADS_CERT: cert, GT_THREADS_KEY: key };
  const named = Object.entries(files).filter((one): one is [string, string] => one[1] !== undefined);
  return Object.fromEntries(named.map(([name, path]) => [name, resolve(path)]));
}

/** @throws DomainError `invalid` */
function tlsOf(files: Readonly<Record<string, string>>): ThreadsTls | undefined {
  const { GT_THREADS_CA: ca, GT_THREADS_CERT: cert, GT_THREADS_KEY: key } = files;
  if (ca === undefined && cert === undefined) return undefined;
  const trusted = { ca: ca === undefined ? rootCertificates.join("\n") : certificatesIn(ca) };
  if (cert === undefined || key === undefined) return trusted;
  const own = { cert: certificatesIn(cert), key: readNamedFileSync(key) };
  readPem(own.key, "key", key, createPrivateKey);
  return { ...trusted, ...own };
}

/** @throws DomainError `invalid` */
function certificatesIn(file: string): string {
  return readPem(readNamedFileSync(file), "certificate", file, (pem) => certificatesOf(pem).join(""));
}

/** The token in a file. @throws DomainError `unauthenticated` */
function tokenOf(file: string): string {
  const text = readNamedFileSync(file, "unauthenticated").trim();
  if (text !== "" && text.length <= MAX_TOKEN_BYTES && !/\s/.test(text)) return text;
  throw new DomainError("unauthenticated", `the file ${file} contains no token`);
}

function personName(env: Env, kept: ThreadsProfile): string {
  const given = env["GT_THREADS_PERSON"] || kept.person || env["USER"] || safeUser();
  return isAgentId(given) ? given : "person";
}

function safeUser(): string {
  try {
    return userInfo().username;
  } catch {
    return "person"; // a uid without a name
  }
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
