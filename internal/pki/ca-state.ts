import { DomainError } from "../base/errors.ts";
import { REVOCATION_REASONS, type RevocationReason, type RevokedCertificate } from "./sign-revocation-list.ts";

/** A certificate that a CA signed. */
export interface IssuedCertificate {
  /** Hex, as Node prints it. */
  readonly serial: string;
  readonly name: string;
  readonly type: "server" | "client" | "sidecar" | "cross-signed";
  /** Wall clock, ms. */
  readonly notAfter: number;
}

interface RevokedEntry extends RevokedCertificate {
  readonly notAfter: number;
}

/** The certificates that a CA has issued and revoked. Contains no secrets. */
export interface CaState {
  /** Number of the last revocation list; 0: none has been issued. */
  readonly crlNumber: number;
  readonly issued: readonly IssuedCertificate[];
  readonly revoked: readonly RevokedEntry[];
}

export const NEW_CA_STATE: CaState = { crlNumber: 0, issued: [], revoked: [] };

/**
 * An expired certificate stays this long, so that at least one list published after its end names it (RFC 5280 §3.3).
 */
const KEPT_AFTER_END_MS = 90 * 86_400_000;

/** Drops certificates that expired more than KEPT_AFTER_END_MS ago, so that the file does not grow without bound. */
export function pruned(state: CaState, now: number): CaState {
  const isKept = ({ notAfter }: { readonly notAfter: number }) => notAfter + KEPT_AFTER_END_MS > now;
  return { ...state, issued: state.issued.filter(isKept), revoked: state.revoked.filter(isKept) };
}

/**
 * The number of the next list: the seconds since 1970, so that it rises even if this file is lost, or one more than the
 * last number if that is higher.
 */
export function nextCrlNumber({ crlNumber }: CaState, now: number): number {
  return Math.max(crlNumber + 1, Math.floor(now / 1000));
}

/** JSON with times in ISO 8601, one certificate per line. */
export function stateText({ crlNumber, issued, revoked }: CaState): string {
  const rows = (entries: readonly object[]) =>
    entries.length === 0 ? "[]" : `[\n${entries.map((entry) => `    ${JSON.stringify(entry)}`).join(",\n")}\n  ]`;
  const issuedRows = issued.map(({ notAfter, ...rest }) => ({ ...rest, not_after: iso(notAfter) }));
  const revokedRows = revoked.map(({ at, notAfter, ...rest }) => ({ ...rest, at: iso(at), not_after: iso(notAfter) }));
  return `{
  "version": 1,
  "crl_number": ${crlNumber},
  "issued": ${rows(issuedRows)},
  "revoked": ${rows(revokedRows)}
}
`;
}

/** The keys of the file and of its entries. A later program may add some, which this one would drop when it writes. */
const KEYS = {
  state: ["version", "crl_number", "issued", "revoked"],
  issued: ["serial", "name", "type", "not_after"],
  revoked: ["serial", "at", "reason", "not_after"],
} as const;

/**
 * @throws DomainError `invalid` for a text that `stateText` did not write, or one with an unknown key; the error
 * contains `name`
 */
export function parseState(text: string, name: string): CaState {
  const refuseOthers = (entry: object, kind: keyof typeof KEYS) => {
    const known: readonly string[] = KEYS[kind];
    const unknown = Object.keys(entry).find((key) => !known.includes(key));
    if (unknown === undefined) return;
    throw new DomainError("invalid", `${name} has the key ${JSON.stringify(unknown)}, which is not known here`, {
      fields: { hint: "a later bridge-ca may have written it: use that one, since this one would lose it" },
    });
  };
  try {
    const state = JSON.parse(text);
    const { version, crl_number: crlNumber, issued, revoked } = state;
    refuseOthers(state, "state");
    for (const entry of issued) refuseOthers(entry, "issued");
    for (const entry of revoked) refuseOthers(entry, "revoked");
    if (version !== 1 || !Number.isSafeInteger(crlNumber)) throw new Error("not version 1");
    return {
      crlNumber,
      issued: issued.map((entry: Record<string, unknown>) => ({ ...common(entry), ...nameAndType(entry) })),
      revoked: revoked.map((entry: Record<string, unknown>) => ({
        ...common(entry),
        at: timeOf(entry["at"]),
        reason: reasonOf(entry["reason"]),
      })),
    };
  } catch (cause) {
    if (cause instanceof DomainError) throw cause;
    throw new DomainError("invalid", `${name} is not the state of a CA, or is damaged`, {
      fields: { hint: "restore it from a copy: it records which certificates are revoked" },
      cause,
    });
  }
}

function common(entry: Record<string, unknown>) {
  const { serial } = entry;
  if (typeof serial !== "string" || !/^[0-9A-F]{1,64}$/.test(serial)) throw new Error("no serial");
  return { serial, notAfter: timeOf(entry["not_after"]) };
}

function nameAndType({ name, type }: Record<string, unknown>): Pick<IssuedCertificate, "name" | "type"> {
  if (typeof name !== "string" || typeof type !== "string") throw new Error("no name");
  return { name, type: type as IssuedCertificate["type"] };
}

function reasonOf(text: unknown): RevocationReason {
  if (typeof text !== "string" || !Object.hasOwn(REVOCATION_REASONS, text)) throw new Error("no reason");
  return text as RevocationReason;
}

function timeOf(text: unknown): number {
  const ms = typeof text === "string" ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new Error("no time");
  return ms;
}

function iso(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
