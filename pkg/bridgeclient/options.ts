import type { BackoffOptions } from "../../internal/base/backoff.ts";
import { invalid } from "./errors.ts";

/** Files of the client's side of mutual TLS (PEM). They are read again when they change. */
export interface MtlsOptions {
  /** The CA, or the bundle with cross-signed CAs, that the bridge's certificate must lead to. */
  readonly caCertPath: string;
  /** The client's certificate, leaf first. */
  readonly certPath: string;
  /** Its private key. */
  readonly keyPath: string;
  /**
   * Revocation lists of the CAs of `caCertPath`, in one file or several: a bridge whose certificate they name is
   * refused. Default: none.
   */
  readonly crlPath?: string | readonly string[];
}

/** How to create the token of each call. It is bound to the certificate of `mtls`. */
export interface JwtOptions {
  /** Private Ed25519 key (PEM, not encrypted); read again when it changes. */
  readonly privateKeyPath: string;
  /** Whose key it is: the issuer that the bridge knows. */
  readonly issuer: string;
  /** Default `bridge`. */
  readonly audience?: string;
  /** Who calls. Default: the issuer. */
  readonly subject?: string;
  /** The project that the sessions of this client belong to. */
  readonly projectId: string;
  /** Limits what the client may do. Default: everything (`operate`). */
  readonly scope?: "read" | "nudge" | "operate";
  /** How long a token counts, ms. Default, and at most what a bridge takes: 300,000. */
  readonly ttlMs?: number;
}

/** A deadline by what is called, ms: 1 to 86,400,000. A call's own `timeoutMs` wins. Streams have none. */
export interface TimeoutOptions {
  /** What is not named below: default 15,000. */
  readonly defaultMs?: number;
  readonly startSessionMs?: number;
  readonly stopSessionMs?: number;
  readonly sendInputMs?: number;
  /** On top of a nudge's own `timeout_ms`: default 15,000. */
  readonly nudgeMarginMs?: number;
}

/** Calls that are safe to repeat are retried after `unavailable`, within their deadline. */
export interface RetryOptions {
  /** The first try included, 1 to 100. 1: never again. Default 5. */
  readonly maxAttempts?: number;
  /** The wait before the second try, ms: 1 to 60,000. Default 100; doubled each time, ±20 %. */
  readonly firstMs?: number;
  /** The longest wait, ms, between reconnects of an event stream too: `firstMs` to 3,600,000. Default 5,000. */
  readonly maxMs?: number;
}

export interface KeepaliveOptions {
  /**
   * A connection with open calls that is silent for this long is asked (HTTP/2 PING) whether it lives, ms. Default
   * 5,000, at least 100: Node does not report a reset that meets a write, so this also bounds how late that is noticed.
   */
  readonly pingIntervalMs?: number;
  /** It is cut when it does not answer within this, ms. Default 5,000, at least 100. */
  readonly pingTimeoutMs?: number;
}

export interface ClientOptions {
  /** `host:port` of the bridge; `[::1]:9445` for IPv6. Without a port: 9445. */
  readonly target: string;
  readonly mtls: MtlsOptions;
  readonly jwt: JwtOptions;
  /** The name that the bridge's certificate must bear. Default: the host of `target`. */
  readonly serverName?: string;
  readonly timeouts?: TimeoutOptions;
  readonly retry?: RetryOptions;
  readonly keepalive?: KeepaliveOptions;
}

/** One call's own choices. */
export interface CallOptions {
  /** Ends the call; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Deadline of the call with all its tries, ms. */
  readonly timeoutMs?: number;
}

/** Options with every default filled in. @internal */
export interface Settings {
  readonly baseUrl: string;
  readonly serverName: string | undefined;
  readonly mtls: MtlsOptions;
  readonly jwt: Required<JwtOptions>;
  readonly timeouts: Required<TimeoutOptions>;
  readonly maxAttempts: number;
  readonly backoff: BackoffOptions;
  readonly keepalive: Required<KeepaliveOptions>;
}

const DEFAULT_PORT = 9445;
const MAX_TTL_MS = 300_000;
const TIMEOUTS: Required<TimeoutOptions> = {
  defaultMs: 15_000,
  startSessionMs: 60_000,
  stopSessionMs: 60_000,
  sendInputMs: 90_000,
  nudgeMarginMs: 15_000,
};

/** @throws BridgeError `invalid_argument`, naming the option @internal */
export function settingsOf(options: ClientOptions): Settings {
  const { target, mtls, jwt, serverName, timeouts, retry = {}, keepalive } = options;
  const { maxAttempts = 5, firstMs = 100, maxMs = 5000 } = retry;
  const token = {
    audience: "bridge",
    subject: jwt?.issuer,
    scope: "operate",
    ttlMs: MAX_TTL_MS,
    ...given(jwt),
  } as const;
  checkTexts("mtls", mtls, ["caCertPath", "certPath", "keyPath"]);
  checkTexts("jwt", token, ["privateKeyPath", "issuer", "audience", "subject", "projectId"]);
  checkRange("jwt.ttlMs", token.ttlMs, 1000, MAX_TTL_MS);
  checkWhole("retry.maxAttempts", maxAttempts, 1, 100);
  checkRange("retry.firstMs", firstMs, 1, 60_000);
  checkRange("retry.maxMs", maxMs, firstMs, 3_600_000);
  const allTimeouts = { ...TIMEOUTS, ...given(timeouts) };
  for (const [name, ms] of Object.entries(allTimeouts)) checkTimeout(`timeouts.${name}`, ms);
  const pings = { pingIntervalMs: 5000, pingTimeoutMs: 5000, ...given(keepalive) };
  for (const [name, ms] of Object.entries(pings)) checkRange(`keepalive.${name}`, ms, 100, 3_600_000);
  return {
    baseUrl: baseUrlOf(target),
    serverName,
    mtls,
    jwt: token as Required<JwtOptions>,
    timeouts: allTimeouts,
    maxAttempts,
    backoff: { firstMs, maxMs, factor: 2 },
    keepalive: pings,
  };
}

/** TLS always: there is no plaintext target. */
function baseUrlOf(target: string): string {
  const text = String(target);
  const url = URL.parse(text.startsWith("https://") ? text : `https://${text}`);
  const isAddress = url !== null && url.hostname !== "" && url.username === "" && url.search === "" && url.hash === "";
  if (!isAddress || url.pathname !== "/" || /^(?!https:)[a-z]+:\/\//.test(text)) {
    throw invalid(`target is host:port, not ${JSON.stringify(target)}`);
  }
  const hasPort = /:\d+\/?$/.test(text);
  return `https://${url.hostname}:${hasPort ? url.port || 443 : DEFAULT_PORT}`;
}

function checkTexts(block: string, value: object | undefined, names: readonly string[]): void {
  for (const name of names) {
    const text: unknown = (value as Readonly<Record<string, unknown>> | undefined)?.[name];
    if (typeof text !== "string" || text === "") throw invalid(`${block}.${name} is missing`);
  }
}

function checkRange(name: string, value: number, least: number, most: number): void {
  if (!(typeof value === "number" && value >= least && value <= most))
    throw invalid(`${name} is between ${least} and ${most}, not ${value}`);
}

/** @throws BridgeError `invalid_argument`, naming the option @internal */
export function checkTimeout(name: string, ms: number): void {
  checkRange(name, ms, 1, 86_400_000);
}

function checkWhole(name: string, value: number, least: number, most: number): void {
  checkRange(name, value, least, most);
  if (!Number.isInteger(value)) throw invalid(`${name} is a whole number, not ${value}`);
}

/** Without keys whose value is undefined, so that they do not hide a default. */
function given<T extends object>(values: T | undefined): T {
  return Object.fromEntries(Object.entries(values ?? {}).filter(([, value]) => value !== undefined)) as T;
}
