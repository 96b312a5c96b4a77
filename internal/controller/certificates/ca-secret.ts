import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { DomainError } from "../../base/errors.ts";
import { checkSigner, isIssuedBy } from "../../pki/authority.ts";
import { certificatesOf } from "../../pki/pem.ts";
import { type RevocationList, revocationListsOf } from "../../pki/revocation-list.ts";
import { bundleOf, type CaId, type RotationState } from "./ca-rotation.ts";
import type { IssuingCa } from "./session-certificate.ts";

/**
 * Keys of the CA's Secret. `ca.crt` and `ca.key`: the CA. `next.crt` and `next.key`: its successor, while it is being
 * introduced; afterwards `previous.crt`, until the old CA is no longer trusted. `chain.crt`: the successor signed by
 * the old CA, for peers that trust only the old one. `clients.crt`: CAs of callers, signed by our CA. `crl.pem`:
 * revocation lists. `rotation.json`: progress of the replacement.
 */
export type CaSecretData = Readonly<Record<string, string>>;

/** The CA for issuing now. */
export interface CaMaterial extends IssuingCa {
  readonly state: RotationState;
}

/**
 * Parses and checks the CA's Secret.
 * @param now wall clock, ms
 * @throws DomainError `precondition` that names the key of the Secret
 */
export function readCaSecret(data: CaSecretData, now: number): CaMaterial {
  const certificate = (key: string) => read(key, () => certificatesOf(need(data, key))[0]);
  const current = certificate("ca.crt");
  const state = stateOf(data, caId(current));
  const key = read("ca.key", () => createPrivateKey(need(data, "ca.key")));
  read("ca.crt", () => checkSigner({ certificate: current, key }, now, "ca.crt"));
  const known = ["ca.crt", "next.crt", "previous.crt"].flatMap((name) => (data[name] ? [certificate(name)] : []));
  const roots = bundleOf(state).map((id) => known.find((one) => caId(one) === id));
  if (roots.includes(undefined)) throw fault("rotation.json", "names a CA that is not in the Secret");
  const trusted = roots.filter((root) => root !== undefined);
  const clients = data["clients.crt"] ? read("clients.crt", () => certificatesOf(need(data, "clients.crt"))) : [];
  const crl = data["crl.pem"];
  if (crl) checkLists(crl, [...trusted, ...clients]);
  return {
    state,
    signer: { certificate: current, key },
    chain: state.type === "reissuing" && data["chain.crt"] ? String(certificate("chain.crt")) : "",
    bundle: [...trusted, ...clients].join(""),
    crl: crl || undefined,
  };
}

/**
 * Names of callers' CAs that only the previous CA has signed. Once the previous CA is no longer trusted, callers of
 * these CAs would be refused: the operator must have the new CA sign these CAs.
 */
export function clientsOfPrevious(data: CaSecretData, state: RotationState): readonly string[] {
  if (state.type !== "reissuing" || !data["clients.crt"] || !data["previous.crt"]) return [];
  const clients = certificatesOf(data["clients.crt"]);
  const [previous, current] = [certificatesOf(data["previous.crt"])[0], certificatesOf(need(data, "ca.crt"))[0]];
  const isKept = (one: X509Certificate) => clients.some((ca) => ca.subject === one.subject && isIssuedBy(ca, current));
  return clients.filter((one) => isIssuedBy(one, previous) && !isKept(one)).map(({ subject }) => subject);
}

/**
 * The Secret's data after a step of the replacement; the signer is always in `ca.crt` and `ca.key`.
 * @throws DomainError `precondition` if the next CA's certificate or key is missing
 */
export function afterStep(data: CaSecretData, state: RotationState): CaSecretData {
  const kept: CaSecretData = { ...data, "rotation.json": JSON.stringify(state) };
  if (state.type === "reissuing" && caId(new X509Certificate(need(data, "ca.crt"))) === state.previous) {
    const { "next.crt": nextCrt, "next.key": nextKey, ...rest } = kept;
    const [crt, key] = [nextCrt ?? need(data, "next.crt"), nextKey ?? need(data, "next.key")];
    return { ...rest, "ca.crt": crt, "ca.key": key, "previous.crt": need(data, "ca.crt") };
  }
  if (state.type === "retiring") return withoutLists(kept);
  if (state.type !== "steady") return kept;
  const { "previous.crt": _previous, "next.crt": _next, "next.key": _key, "chain.crt": _chain, ...rest } = kept;
  return rest;
}

/**
 * Drops the revocation lists of CAs that leave the bundle: a sidecar refuses a list that no CA of its bundle has
 * signed.
 */
function withoutLists(data: CaSecretData): CaSecretData {
  const { "crl.pem": crl, ...rest } = data;
  if (!crl) return data;
  const cas = [need(data, "ca.crt"), data["clients.crt"] ?? ""].flatMap((pem) =>
    pem === "" ? [] : certificatesOf(pem),
  );
  const kept = read("crl.pem", () => revocationListsOf(crl)).filter((list) => isOfOne(list, cas));
  return kept.length === 0 ? rest : { ...rest, "crl.pem": kept.map(({ pem }) => pem).join("") };
}

/** Refuses lists that every sidecar would refuse, before they are in every Secret. */
function checkLists(pem: string, cas: readonly X509Certificate[]): void {
  const lists = read("crl.pem", () => revocationListsOf(pem));
  if (lists.every((list) => isOfOne(list, cas))) return;
  throw fault("crl.pem", "contains a list that no CA here has signed");
}

function isOfOne(list: RevocationList, cas: readonly X509Certificate[]): boolean {
  return cas.some((ca) => list.isSignedBy(ca));
}

/** The id of a CA as sidecars report it. */
export function caId(certificate: X509Certificate): CaId {
  return createHash("sha256").update(certificate.raw).digest("hex");
}

/** Without `rotation.json` the state is steady. */
function stateOf(data: CaSecretData, current: CaId): RotationState {
  const text = data["rotation.json"];
  if (text === undefined || text === "") return { type: "steady", current };
  const state = read("rotation.json", () => JSON.parse(text) as RotationState);
  if (!["steady", "introducing", "reissuing", "retiring"].includes(state.type) || state.current !== current) {
    throw fault("rotation.json", "does not match ca.crt");
  }
  if (state.type === "reissuing" && !Number.isFinite(state.since)) {
    throw fault("rotation.json", "since is not a time in milliseconds");
  }
  return state;
}

function need(data: CaSecretData, key: string): string {
  const text = data[key];
  if (text === undefined || text === "") throw fault(key, "is missing");
  return text;
}

function read<T>(key: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    const why = cause instanceof DomainError ? cause.message : "cannot be read";
    throw cause instanceof DomainError && cause.kind === "precondition" ? cause : fault(key, why, cause);
  }
}

function fault(key: string, why: string, cause?: unknown): DomainError {
  return new DomainError("precondition", `the CA's Secret cannot be used: ${key}: ${why}`, { cause });
}
