import type { BackoffOptions } from "../../internal/base/backoff.ts";
import { invalidOption } from "./errors.ts";

/** Files for the client's side of mutual TLS (PEM). They are read again when they change. */
export interface MtlsOptions {
  /** The CA, or the bundle with cross-signed CAs, to which the bridge's certificate must lead. */
  readonly caCertPath: string;
  /** The client's certificate chain, leaf first. */
  readonly certPath: string;
  /** The private key of the client's certificate. */
  readonly keyPath: string;
  /**
   * Revocation lists of the CAs in `caCertPath`, in one file or several. A bridge with a revoked certificate is
   * refused. Default: none.
   */
  readonly crlPath?: string | readonly string[];
}

/** How to sign the token of each call. Tokens are bound to the certificate in `mtls`. */
export interface JwtOptions {
  /** Private Ed25519 key (PEM, not encrypted); read again when it changes. */
  readonly privateKeyPath: string;
  /** The issuer under which the bridge knows the key. */
  readonly issuer: string;
  /** Default `bridge`. */
  readonly audience?: string;
  /** The caller's name. Default: the issuer. */
  readonly subject?: string;
  /** The project of this client's sessions. */
  readonly projectId: string;
  /** Limits what the client may do. Default: everything (`operate`). */
  readonly scope?: "read" | "nudge" | "operate";
  /** Lifetime of a token, ms. Default and maximum: 300,000. */
  readonly ttlMs?: number;
}

/** Deadlines per RPC, ms: 1 to 86,400,000. A call's own `timeoutMs` takes precedence. Streams have no deadline. */
export interface TimeoutOptions {
  /** All RPCs that are not named below: default 15,000. */
  readonly defaultMs?: number;
  readonly startSessionMs?: number;
  readonly stopSessionMs?: number;
  readonly sendInputMs?: number;
  /** Added to a nudge's own `timeout_ms`: default 15,000. */
  readonly nudgeMarginMs?: number;
}

/** Calls that are safe to repeat are retried after `unavailable`, within their deadline. */
export interface RetryOptions {
  /** The most attempts, including the first: 1 to 100, default 5. 1: no retries. */
  readonly maxAttempts?: number;
  /** Wait before the second attempt, ms: 1 to 60,000. Default 100; doubled each time, ±20 %. */
  readonly firstMs?: number;
  /** The longest wait, ms, also before an event stream is opened again: `firstMs` to 3,600,000. Default 5,000. */
  readonly maxMs?: number;
}

export interface KeepaliveOptions {
  /**
   * Sends an HTTP/2 PING on a connection with open calls that has been silent for this long, ms. Default 5,000, at
   * least 100. The PING also reveals a connection reset that coincides with a write, which Node does not report.
   */
  readonly pingIntervalMs?: number;
  /** Closes a connection that does not answer a PING within this time, ms. Default 5,000, at least 100. */
  readonly pingTimeoutMs?: number;
}

export interface ClientOptions {
  /** `host:port` of the bridge; `[::1]:9445` for IPv6. Without a port: 9445. */
  readonly target: string;
  readonly mtls: MtlsOptions;
  readonly jwt: JwtOptions;
  /** The name that the bridge's certificate must contain. Default: the host of `target`. */
  readonly serverName?: string;
  readonly timeouts?: TimeoutOptions;
  readonly retry?: RetryOptions;
  readonly keepalive?: KeepaliveOptions;
}

/** Options of a single call. */
export interface CallOptions {
  /** When aborted, the call is cancelled and rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Deadline of the call including all its attempts, ms. */
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

/** Connections always use TLS; plaintext is not supported. */
function baseUrlOf(target: string): string {
  const text = String(target);
  const url = URL.parse(text.startsWith("https://") ? text : `https://${text}`);
  const isAddress = url !== null && url.hostname !== "" && url.username === "" && url.search === "" && url.hash === "";
  if (!isAddress || url.pathname !== "/" || /^(?!https:)[a-z]+:\/\//.test(text)) {
    throw invalidOption(`target is host:port, not ${JSON.stringify(target)}`);
  }
  const hasPort = /:\d+\/?$/.test(text);
  return `https://${url.hostname}:${hasPort ? url.port || 443 : DEFAULT_PORT}`;
}

function checkTexts(block: string, value: object | undefined, names: readonly string[]): void {
  for (const name of names) {
    const text: unknown = (value as Readonly<Record<string, unknown>> | undefined)?.[name];
    if (typeof text !== "string" || text === "") throw invalidOption(`${block}.${name} is missing`);
  }
}

function checkRange(name: string, value: number, least: number, most: number): void {
  if (!(typeof value === "number" && value >= least && value <= most))
    throw invalidOption(`${name} is between ${least} and ${most}, not ${value}`);
}

/** @throws BridgeError `invalid_argument`, naming the option @internal */
export function checkTimeout(name: string, ms: number): void {
  checkRange(name, ms, 1, 86_400_000);
}

function checkWhole(name: string, value: number, least: number, most: number): void {
  checkRange(name, value, least, most);
  if (!Number.isInteger(value)) throw invalidOption(`${name} is a whole number, not ${value}`);
}

/** Removes keys whose value is undefined, so that they do not override a default. */
function given<T extends object>(values: T | undefined): T {
  return Object.fromEntries(Object.entries(values ?? {}).filter(([, value]) => value !== undefined)) as T;
}
