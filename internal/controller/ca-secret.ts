import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { DomainError } from "../base/errors.ts";
import { checkSigner } from "../pki/authority.ts";
import { certificatesOf } from "../pki/pem.ts";
import { bundleOf, type CaId, type RotationState } from "./ca-rotation.ts";
import type { IssuingCa } from "./session-certificate.ts";

/**
 * What the CA's Secret holds. `ca.crt` and `ca.key`: the CA. `next.crt` and `next.key`: the one that replaces it, while that is
 * going on; afterwards `previous.crt`, until the old one is trusted no more. `clients.crt`: CAs of callers, as our CA signed
 * them. `crl.pem`: revocation lists. `rotation.json`: how far the replacement is.
 */
export type CaSecretData = Readonly<Record<string, string>>;

/** The CA as it issues now. */
export interface CaMaterial extends IssuingCa {
  readonly state: RotationState;
}

/**
 * Reads and checks the CA's Secret.
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
  const pems = roots.map((root) => root?.toString() ?? "");
  const clients = data["clients.crt"] ? read("clients.crt", () => certificatesOf(need(data, "clients.crt"))) : [];
  return {
    state,
    signer: { certificate: current, key },
    chain: "",
    bundle: [...pems, ...clients.map(String)].join(""),
    ...(data["crl.pem"] && { crl: data["crl.pem"] }),
  };
}

/**
 * The Secret's keys after a step of the replacement: the signer's are always `ca.crt` and `ca.key`. A key that is undefined goes.
 * @throws DomainError `precondition` when the next CA's certificate or key is missing
 */
export function afterStep(data: CaSecretData, state: RotationState): CaSecretData {
  const kept: CaSecretData = { ...data, "rotation.json": JSON.stringify(state) };
  if (state.type === "reissuing" && caId(new X509Certificate(need(data, "ca.crt"))) === state.previous) {
    const { "next.crt": nextCrt, "next.key": nextKey, ...rest } = kept;
    const [crt, key] = [nextCrt ?? need(data, "next.crt"), nextKey ?? need(data, "next.key")];
    return { ...rest, "ca.crt": crt, "ca.key": key, "previous.crt": need(data, "ca.crt") };
  }
  if (state.type !== "steady") return kept;
  const { "previous.crt": _previous, "next.crt": _next, "next.key": _key, ...rest } = kept;
  return rest;
}

/** As sidecars report the CAs of their bundle. */
export function caId(certificate: X509Certificate): CaId {
  return createHash("sha256").update(certificate.raw).digest("hex");
}

/** Without `rotation.json` nothing is going on. */
function stateOf(data: CaSecretData, current: CaId): RotationState {
  const text = data["rotation.json"];
  if (text === undefined || text === "") return { type: "steady", current };
  const state = read("rotation.json", () => JSON.parse(text) as RotationState);
  if (!["steady", "introducing", "reissuing", "retiring"].includes(state.type) || state.current !== current) {
    throw fault("rotation.json", "does not fit ca.crt");
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
