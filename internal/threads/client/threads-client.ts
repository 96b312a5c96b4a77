import { userInfo } from "node:os";
import { type DescMethodUnary, fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { readNamedFileSync } from "../../files/named-file.ts";
import { ThreadsService } from "../../gen/threads/v1/threads_pb.ts";
import { readPem } from "../../pki/explain-pem.ts";
import { certificatesOf } from "../../pki/pem.ts";
import { sidecarTransport } from "../../rpc/client/transport.ts";
import { domainErrorOf } from "../../rpc/common/errors.ts";
import { plainJson } from "../../rpc/common/plain-json.ts";
import { mintLocal, PERSON_TTL_MS } from "./local-issuer.ts";
import { localServer, stateDirs } from "./local-server.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Where a server of threads is and how to prove who calls. */
export interface ThreadsPlace {
  readonly url: string;
  /** For https: the CAs that its certificate may be of, PEM; undefined: those of the system. */
  readonly ca?: string;
  /** A fresh token for each call. @throws DomainError `unauthenticated` */
  readonly token: () => string;
}

const CALL_MS = 35_000;
const MAX_TOKEN_BYTES = 8192;
const FILE_VARIABLE = "GT_THREADS_TOKEN_FILE";
const CA_VARIABLE = "GT_THREADS_CA";

/**
 * The server that is given, else the local one; the token of the file in GT_THREADS_TOKEN_FILE, else one of this
 * machine's person; the CAs of the file in GT_THREADS_CA, else those that a local server names.
 * @throws DomainError `unavailable` where no server is given or running; `invalid` for a file without CAs
 */
export function findThreads(env: Env, clock: Clock, given: { readonly url?: string | undefined }): ThreadsPlace {
  const url = given.url ?? (env["GT_THREADS"] || undefined);
  const file = env[FILE_VARIABLE] || undefined;
  const local = stateDirs(env)
    .map((stateDir) => ({ stateDir, server: localServer(stateDir) }))
    .find((one) => one.server !== undefined);
  const where = url ?? local?.server?.url;
  if (where === undefined) {
    throw new DomainError("unavailable", "no threads server runs on this machine", {
      fields: { hint: "start one: threads, or give --threads URL (GT_THREADS)" },
    });
  }
  const caFile = env[CA_VARIABLE] || (where === local?.server?.url ? local?.server?.ca : undefined);
  const at = { url: where, ...(caFile !== undefined && where.startsWith("https:") && { ca: caIn(caFile) }) };
  if (file !== undefined) return { ...at, token: () => tokenOf(file) };
  if (local?.server === undefined) {
    throw new DomainError("unauthenticated", `there is no token for ${where}`, {
      fields: { hint: `name a file with one in ${FILE_VARIABLE}; threads token makes it` },
    });
  }
  const { stateDir, server } = local;
  const agent = personName(env);
  const who = {
    kind: "person",
    workspace: server.workspace,
    agent,
    role: "operator",
    session: `gt-${process.pid}`,
  } as const;
  return { ...at, token: () => mintLocal(stateDir, { ...who, ttlMs: PERSON_TTL_MS }, clock.now()) };
}

/** Calls of ThreadsService by the names of the operations, with the JSON of `docs/protocols/threads.md`. */
export class ThreadsClient implements Disposable {
  readonly #connection: ReturnType<typeof sidecarTransport>;
  readonly #url: string;

  constructor({ url, ca, token }: ThreadsPlace) {
    const showing: Interceptor = (next) => (req) => {
      req.header.set("authorization", `Bearer ${token()}`);
      return next(req);
    };
    this.#url = url;
    this.#connection = sidecarTransport({
      baseUrl: url,
      interceptors: [showing],
      ...(ca !== undefined && { tls: { ca } }),
    });
  }

  /** @throws DomainError with the server's code in the field `code`; `unavailable` where it does not answer */
  async call(name: string, input: object, signal: AbortSignal): Promise<JsonObject> {
    const found = ThreadsService.methods.find((one) => one.localName === camelCase(name));
    if (found === undefined || found.methodKind !== "unary") throw new Error(`no operation ${name}`);
    const method = found as DescMethodUnary;
    try {
      const request = fromJson(method.input, input as JsonValue);
      const { message } = await this.#connection.transport.unary(method, signal, CALL_MS, undefined, request);
      return plainJson(method.output, message, { defaults: true }) as JsonObject;
    } catch (err) {
      if (signal.aborted) throw signal.reason;
      const known = domainErrorOf(err);
      if (!(known instanceof DomainError) || known.kind !== "unavailable" || "code" in known.fields) throw known;
      throw new DomainError("unavailable", `${this.#url}: ${known.message}`, {
        fields: { hint: "is threads running there? threads doctor looks at it", ...known.fields },
        cause: err,
      });
    }
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]();
  }
}

/** The CAs in a file. @throws DomainError `invalid` */
function caIn(file: string): string {
  return readPem(readNamedFileSync(file), "certificate", file, (pem) => certificatesOf(pem).join(""));
}

/** The token in a file. @throws DomainError `unauthenticated` */
function tokenOf(file: string): string {
  const text = readNamedFileSync(file, "unauthenticated").trim();
  if (text !== "" && text.length <= MAX_TOKEN_BYTES && !/\s/.test(text)) return text;
  throw new DomainError("unauthenticated", `the file ${file} contains no token`);
}

function personName(env: Env): string {
  const given = env["GT_THREADS_PERSON"] || env["USER"] || safeUser();
  return /^[A-Za-z0-9][A-Za-z0-9._/-]{0,255}$/.test(given) ? given : "person";
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
