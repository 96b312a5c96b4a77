import { connect as connectPlain } from "node:net";
import { connect } from "node:tls";
import { causesOf, codeOf, DomainError } from "../../base/errors.ts";
import { hostPort } from "../../base/text/host-name.ts";
import type { Place } from "../finding/resolve-place.ts";

const PROBE_MS = 2000;
/** No connection was made: nothing is known about the port's TLS. */
const UNREACHABLE = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"]);

/**
 * Explains a sidecar that could not be reached because it serves TLS and we spoke plaintext, or the other way round, or
 * because its certificate is not trusted: returns an error with a hint, or undefined if none of these is the reason.
 * After a call in plaintext it opens a connection to find out.
 */
export async function tlsMismatch(
  err: unknown,
  { host, port }: Place & { type: "sidecar" },
  usedTls: boolean,
): Promise<DomainError | undefined> {
  if (!(err instanceof DomainError) || causesOf(err).some((one) => isUnreachable(one))) return undefined;
  if (err.kind === "unauthenticated") return untrusted(err, host);
  if (err.kind !== "unavailable") return undefined;
  const at = hostPort(host, port);
  if (usedTls) {
    if (!causesOf(err).some((one) => /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(codeOf(one)))) return undefined;
    return new DomainError("unavailable", `${at} does not serve TLS`, {
      fields: {
        hint: "is it the health port, or a sidecar without --tls-dir? then omit --tls-dir and GT_TLS_DIR",
      },
      cause: err,
    });
  }
  if (!(await servesTls(host, port))) return undefined;
  return new DomainError("unauthenticated", `${at} serves TLS, and no certificate was given`, {
    fields: { hint: "give --tls-dir (GT_TLS_DIR), or --ca, --cert and --key" },
    cause: err,
  });
}

function untrusted(err: DomainError, host: string): DomainError | undefined {
  const code = causesOf(err).map(codeOf).find(Boolean) ?? "";
  const hint = /ALTNAME_INVALID/.test(code)
    ? `its certificate names its session, not this address: name the agent by the session's id, have it issued with --san ${host}, or record the session in the agent's bead`
    : /SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)|CERT_(UNTRUSTED|SIGNATURE)/.test(code)
      ? "its certificate does not lead to your CA: give its CA with --ca, or as ca.crt in --tls-dir"
      : undefined;
  if (hint === undefined || err.fields["hint"] !== undefined) return undefined;
  return new DomainError(err.kind, err.message, { fields: { ...err.fields, hint }, cause: err });
}

/** The errors of a handshake with a server that does speak TLS: its alert, or our refusal of its certificate. */
const SPOKE_TLS = /ALERT|CERT|HANDSHAKE_FAILURE|UNABLE_TO_|ISSUER|SIGNATURE/;

/** True when the other end takes part in a TLS handshake; whether it is trusted does not matter. */
function servesTls(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ socket: connectPlain({ host, port }), servername: "", ALPNProtocols: ["h2"] });
    const finish = (serves: boolean) => {
      socket.destroy();
      resolve(serves);
    };
    socket.setTimeout(PROBE_MS, () => finish(false));
    socket.once("secureConnect", () => finish(true));
    socket.once("error", (err) => finish(SPOKE_TLS.test(codeOf(err))));
  });
}

function isUnreachable(err: Error): boolean {
  return UNREACHABLE.has(codeOf(err));
}
