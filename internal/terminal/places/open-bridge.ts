import { randomUUID, X509Certificate } from "node:crypto";
import { type CallOptions, type Client, createClient, type Transport } from "@connectrpc/connect";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { plainText } from "../../base/sanitise.ts";
import { BridgeService, type GetSessionResponse, SessionStatus } from "../../gen/bridge/v1/bridge_pb.ts";
import { abortOnExit, sidecarTransport } from "../../rpc/client/transport.ts";
import { domainErrorOf } from "../../rpc/common/errors.ts";
import type { Backend } from "../backend.ts";
import { BridgeBackend } from "../bridge-backend.ts";
import { chooseBridgeSession, type ListedSession } from "../finding/choose-bridge-session.ts";
import { callerToken } from "../trust/caller-token.ts";
import { currentTls } from "../trust/current-tls.ts";
import { senderOf } from "../trust/sender.ts";
import { clientTls, readTls } from "../trust/tls-files.ts";
import { type TokenSource, tokenProject } from "../trust/token-source.ts";
import { explainFailure, type FailedBridgeCall } from "./bridge-failures.ts";
import type { PlaceConfig } from "./place-config.ts";

const RECONNECT_MS = 15_000;
const CALL_MS = 30_000;
/** The interval at which the current token is sent. A sent token is valid for twice as long (`callerToken`). */
const SHOW_MS = 30_000;
const PAGE = 1000;
/** More pages than the sessions of a bridge fill. */
const MAX_PAGES = 20;
const HINT = "is it running there? gt config show shows which control plane is used";

/** A control plane, ready for calls. Its errors include a hint where `explainFailure` has one. */
export class OpenBridge implements Disposable {
  /** `host:port`. */
  readonly server: string;
  /** The project whose sessions it shows; undefined when the token does not name one. */
  readonly project: string | undefined;
  readonly #client: Client<typeof BridgeService>;
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #close: () => void;
  readonly #token: Pick<FailedBridgeCall, "project" | "isGivenToken">;

  constructor(
    deps: { readonly transport: Transport; readonly clock: Clock; readonly close: () => void },
    options: { readonly server: string; readonly project: string | undefined; readonly token: TokenSource },
  ) {
    this.server = options.server;
    this.project = options.project;
    this.#token = { project: tokenProject(options.token), isGivenToken: options.token.type === "given" };
    this.#client = createClient(BridgeService, deps.transport);
    this.#transport = deps.transport;
    this.#clock = deps.clock;
    this.#close = deps.close;
  }

  /** One session as a terminal. */
  backend(sessionId: string): Backend {
    const deps = {
      transport: this.#transport,
      clock: this.#clock,
      newId: randomUUID,
      toError: (err: unknown) => this.#explained(err),
      random: Math.random,
      close: () => this[Symbol.dispose](),
    };
    return new BridgeBackend(deps, { where: this.server, hint: HINT, reconnectMs: RECONNECT_MS, sessionId });
  }

  /** A call with one answer. @throws DomainError, as `explainFailure` explains it */
  async call<T>(
    signal: AbortSignal,
    ask: (client: Client<typeof BridgeService>, options: CallOptions) => Promise<T>,
  ): Promise<T> {
    try {
      return await ask(this.#client, { signal, timeoutMs: CALL_MS });
    } catch (err) {
      throw signal.aborted ? signal.reason : this.#explained(err);
    }
  }

  /** A stream, cancelled when the caller stops reading it. @throws as `call` */
  async *stream<T>(
    signal: AbortSignal,
    ask: (client: Client<typeof BridgeService>, options: CallOptions) => AsyncIterable<T>,
  ): AsyncGenerator<T, void, undefined> {
    try {
      yield* abortOnExit((stop) => ask(this.#client, { signal: stop, timeoutMs: 0 }), signal);
    } catch (err) {
      throw signal.aborted ? signal.reason : this.#explained(err);
    }
  }

  /**
   * Every session of the project, the oldest first. `note` gets a line when there may be more.
   * @throws DomainError `unavailable` if the list is empty and incomplete
   */
  async sessions(signal: AbortSignal, note: (message: string) => void = () => {}) {
    const all: GetSessionResponse[] = [];
    let [pageToken, incomplete] = ["", ""];
    for (let page = 0; page < MAX_PAGES; page++) {
      const request = { pageSize: PAGE, pageToken };
      const answer = await this.call(signal, (client, options) => client.listSessions(request, options));
      all.push(...answer.sessions);
      ({ nextPageToken: pageToken, incomplete } = answer);
      if (pageToken === "") break;
    }
    if (incomplete !== "") {
      const why = plainText(`there may be more sessions at ${this.server}: ${incomplete}`);
      if (all.length === 0) throw new DomainError("unavailable", why);
      note(why);
    }
    return all;
  }

  /**
   * The session of that id or agent. The list may be older than the session, so a session that it lacks is requested by
   * its id.
   * @throws as `chooseBridgeSession`; DomainError `unavailable` while the control plane cannot know whether it exists
   */
  async find(asked: string, signal: AbortSignal): Promise<ListedSession> {
    try {
      return chooseBridgeSession(asked, (await this.sessions(signal)).map(summaryOf));
    } catch (err) {
      if (!(err instanceof DomainError) || err.kind !== "not-found") throw err;
      return await this.#unlisted(asked, err, signal);
    }
  }

  async #unlisted(asked: string, notFound: DomainError, signal: AbortSignal): Promise<ListedSession> {
    // `asked` may be an agent's address: a call for any id shows whether the control plane knows all sessions.
    const sessionId = asked.slice(asked.lastIndexOf("/") + 1);
    const session = await this.call(signal, (client, options) => client.getSession({ sessionId }, options)).catch(
      (err) => {
        signal.throwIfAborted();
        throw err instanceof DomainError && err.kind === "unavailable" ? err : notFound;
      },
    );
    if (session.sessionId !== asked) throw notFound;
    return summaryOf(session);
  }

  [Symbol.dispose](): void {
    this.#close();
  }

  #explained(err: unknown): unknown {
    return explainFailure(domainErrorOf(err), { server: this.server, ...this.#token });
  }
}

/** The settings that name a control plane and the caller. */
type BridgeConfig = Pick<PlaceConfig, "server" | "tls" | "token" | "project" | "env">;

/**
 * The control plane of `config`; connects at the first call.
 * @throws DomainError `invalid` when none was named; `unauthenticated` without a certificate or a token, and for a
 * certificate that has expired
 */
export async function openBridge(config: BridgeConfig, clock: Clock): Promise<OpenBridge> {
  const { server, token } = config;
  if (server === undefined) {
    throw new DomainError("invalid", "which control plane?", {
      fields: { hint: "give --server HOST:PORT (GT_SERVER), or store it: gt config set server HOST:PORT" },
    });
  }
  const tls = await readTls(config.tls);
  if (tls === undefined) {
    throw missing(
      `${server} requires a certificate`,
      "give --tls-dir (GT_TLS_DIR), or --ca, --cert and --key; gt config can store them",
    );
  }
  if (token === undefined) {
    throw missing(
      `${server} requires a token`,
      "give --jwt-key, --jwt-issuer and --project (gt config can store them), or GT_TOKEN",
    );
  }
  checkDates(tls.cert, clock.now());
  let certificate = tls.cert;
  const use = (files: typeof tls) => {
    connection.setTls(clientTls(files));
    certificate = files.cert;
  };
  const deps = { clock, certificate: () => certificate, subject: senderOf(config.env) };
  const interceptors = [currentTls({ read: () => readTls(config.tls), use }, tls), callerToken(deps, token)];
  const connection = sidecarTransport({ baseUrl: `https://${server}`, tls: clientTls(tls), interceptors });
  const open = new AbortController();
  const close = () => {
    open.abort();
    connection[Symbol.dispose]();
  };
  const bridge = new OpenBridge(
    { transport: connection.transport, clock, close },
    { server, project: config.project ?? tokenProject(token), token },
  );
  if (token.type === "signed") showTokens(bridge, clock, open.signal).catch(() => {}); // ends with the abort
  return bridge;
}

/**
 * Sends the current token at intervals, with a call: the server ends a stream when its token expires, unless a newer
 * token was sent over the same connection.
 */
async function showTokens(bridge: OpenBridge, clock: Clock, signal: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(SHOW_MS, signal);
    await bridge.call(signal, (client, options) => client.health({}, options)).catch(() => {});
  }
}

/** Checks the dates before the server does, which would close the connection without giving a reason. */
function checkDates(cert: string, now: number): void {
  const { validTo, validFromDate, validToDate } = new X509Certificate(cert);
  if (validToDate.getTime() <= now)
    throw missing(`your certificate expired at ${validTo}`, "bridge-ca renew --cert FILE renews it");
  if (validFromDate.getTime() > now)
    throw missing("your certificate is not valid yet", "is the clock of this machine right?");
}

function missing(message: string, hint: string): DomainError {
  return new DomainError("unauthenticated", message, { fields: { hint } });
}

function summaryOf({ sessionId, agent, status }: GetSessionResponse): ListedSession {
  return { id: sessionId, agent, live: status !== SessionStatus.STOPPED && status !== SessionStatus.FAILED };
}
