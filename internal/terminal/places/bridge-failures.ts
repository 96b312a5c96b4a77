import { causesOf, codeOf, DomainError } from "../../base/errors.ts";

/** A failed call to a control plane. */
export interface FailedBridgeCall {
  /** `host:port`. */
  readonly server: string;
  /** The project that the token is for, where that is known. */
  readonly project: string | undefined;
  /** The token was given in GT_TOKEN: gt cannot create one for another project. Default false. */
  readonly isGivenToken?: boolean;
}

type Explain = (
  err: DomainError,
  call: FailedBridgeCall,
) => { readonly message?: string; readonly hint: string } | undefined;

/** The known ways in which a call can fail, each with a hint; the first that fits counts. */
const WAYS: readonly Explain[] = [
  plaintextServer,
  serverExpired,
  serverNamedOtherwise,
  serverOfUnknownCa,
  endedBeforeTls,
  certificateRefused,
  tokenRefused,
  anotherProject,
  unknownProvider,
  noTerminal,
  stillStarting,
  unreachable,
  unanswered,
];

/** The same failure, with a hint if it is one of the known ones. */
export function explainFailure(err: unknown, call: FailedBridgeCall): unknown {
  if (!(err instanceof DomainError) || err.fields["hint"] !== undefined) return err;
  for (const way of WAYS) {
    const found = way(err, call);
    if (found === undefined) continue;
    const { message = err.message, hint } = found;
    return new DomainError(err.kind, message, { fields: { ...err.fields, hint }, cause: err });
  }
  return err;
}

function plaintextServer(err: DomainError, { server }: FailedBridgeCall) {
  if (!hasCode(err, /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST/)) return undefined;
  return {
    message: `${server} does not speak TLS, and gt reaches a control plane only over TLS`,
    hint: "is it the health port, or a sidecar? gt reaches a sidecar with --host and --port",
  };
}

function serverExpired(err: DomainError, { server }: FailedBridgeCall) {
  if (!hasCode(err, /^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/)) return undefined;
  return {
    message: `${server} is not trusted: its certificate has expired or is not valid yet`,
    hint: "its operator can renew it with: bridge-ca renew",
  };
}

function serverNamedOtherwise(err: DomainError, { server }: FailedBridgeCall) {
  if (!hasCode(err, /ALTNAME_INVALID|HOSTNAME_MISMATCH/)) return undefined;
  return {
    hint: `${server} is not a name in its certificate: dial one that is, or have the certificate issued with --san`,
  };
}

function serverOfUnknownCa(err: DomainError, { server }: FailedBridgeCall) {
  if (!hasCode(err, /SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)|CERT_(UNTRUSTED|SIGNATURE)|INVALID_CA|INVALID_PURPOSE/))
    return undefined;
  return {
    message: `${server} is not trusted: its certificate does not lead to your CA`,
    hint: "cross-sign its CA and put it into your bundle (--ca): bridge-ca cross-sign --usage server, bridge-ca bundle",
  };
}

/** Recognised by Node's message. The server had not yet requested our certificate. */
function endedBeforeTls(err: DomainError, { server }: FailedBridgeCall) {
  if (!hasWords(err, /before secure TLS connection was established/)) return undefined;
  return {
    message: `${server} closed the connection before TLS began`,
    hint: "does a control plane run behind it, with TLS? kubectl port-forward ends with its pod: begin it again",
  };
}

/**
 * TLS 1.3 reports a refusal to a client late: by an alert, or by closing the connection, which may arrive as a reset.
 */
function certificateRefused(err: DomainError, { server }: FailedBridgeCall) {
  const isAlert = hasCode(err, /ALERT/);
  const isClosed = err.kind === "unauthenticated" && /may not accept this certificate/.test(err.message);
  const isReset = hasCode(err, /^ECONNRESET$/);
  const isSaid = err.kind === "unauthenticated" && err.message.includes("caller's certificate");
  if (!isAlert && !isClosed && !isSaid && !isReset) return undefined;
  const message = isSaid
    ? err.message
    : isReset
      ? `${server} closed the connection: it may not accept your certificate`
      : `${server} does not accept your certificate`;
  return {
    message,
    hint: "is its CA in the server's bundle, and is it a client certificate? bridge-ca verify --cert FILE tells",
  };
}

const TOKEN_HINTS: Readonly<Record<string, string>> = {
  expired:
    "the token in GT_TOKEN has expired by the server's clock: gt token prints a new one, or give --jwt-key and --jwt-issuer; is the clock of this machine right?",
  early: "the token begins later by the server's clock: is the clock of this machine right?",
  issuer: "--jwt-issuer is the name under which the control plane has your public key",
  audience: "--jwt-audience is the control plane's own name, usually bridge",
  certificate:
    "a token is valid only with a certificate of its issuer: give the certificate that belongs to --jwt-issuer",
  signature: "--jwt-key is not the key whose public half the control plane has",
  project: "that issuer may not act for this project: choose another with --project",
  missing: "give --jwt-key, --jwt-issuer and --project, or GT_TOKEN",
};

function tokenRefused(err: DomainError) {
  const fault = err.fields["token"];
  const isRefused = err.kind === "unauthenticated" || err.kind === "denied";
  if (!isRefused || typeof fault !== "string") return undefined;
  return { hint: TOKEN_HINTS[fault] ?? "gt token prints one that a control plane accepts" };
}

function anotherProject(err: DomainError, { project, isGivenToken = false }: FailedBridgeCall) {
  if (err.kind !== "denied" || !err.message.includes("another project")) return undefined;
  const own = project === undefined ? "the token's project" : `the token is for ${project}`;
  const other = isGivenToken
    ? "GT_TOKEN is used as it is: set one of the other project, or give --jwt-key, --jwt-issuer and --project"
    : "--project requests a token for another project";
  return { hint: `${own}; ${other}` };
}

function unknownProvider(err: DomainError) {
  const { known } = err.fields;
  if (err.kind !== "invalid" || !err.message.startsWith("no provider ") || typeof known !== "string") return undefined;
  return { hint: known === "" ? "no provider is configured there" : `the providers there are ${known}` };
}

function noTerminal(err: DomainError) {
  if (err.kind !== "unimplemented") return undefined;
  return {
    hint: "gt peek, watch and status show what it is doing, gt nudge sends it a message; gt start --mode terminal starts one with a terminal",
  };
}

function stillStarting(err: DomainError) {
  if (err.kind !== "unavailable" || err.fields["session"] !== "starting") return undefined;
  return { hint: "gt wait <session> --for idle waits until it accepts messages; gt agents --json has details" };
}

function hasWords(err: unknown, wanted: RegExp): boolean {
  return causesOf(err).some(({ message }) => wanted.test(message));
}

function hasCode(err: unknown, wanted: RegExp): boolean {
  return causesOf(err).some((one) => wanted.test(codeOf(one)));
}

/** Matches a server, as `HOST:PORT`, on this machine. */
const LOOPBACK = /^(?:127\.|localhost:|\[::1\])/;

function unreachable(err: DomainError, { server }: FailedBridgeCall) {
  if (err.kind !== "unavailable" || !err.message.startsWith("cannot be reached")) return undefined;
  return {
    message: `${server} ${err.message}`,
    hint: LOOPBACK.test(server)
      ? "is a control plane running there, or kubectl port-forward, which ends with its pod? --server (GT_SERVER) gives its address"
      : "is a control plane running there? --server (GT_SERVER) gives its address",
  };
}

/** Recognised by the text of a call that got no response in its time. */
function unanswered(err: DomainError, { server }: FailedBridgeCall) {
  if (err.kind !== "deadline" || err.message !== "the operation timed out") return undefined;
  return {
    message: `${server} does not answer in time`,
    hint: "is the way there open (a port-forward, a VPN), and a control plane ready behind it?",
  };
}
