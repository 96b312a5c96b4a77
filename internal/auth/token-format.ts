import { parseStrictJson } from "../base/strict-json.ts";
import { tokenError } from "./token-error.ts";

/** Larger tokens are refused before they are parsed. */
const MAX_TOKEN_BYTES = 4096;

/**
 * Both names of the same algorithm (RFC 8037, RFC 9864). That the key is Ed25519 was checked when its file was read.
 */
const ALGORITHMS: ReadonlySet<unknown> = new Set(["EdDSA", "Ed25519"]);

/** The bytes of an Ed25519 signature. */
const SIGNATURE_BYTES = 64;

/** A well-formed signed token (JWS compact serialization, RFC 7515) whose signature is not verified yet. */
export interface DecodedToken {
  readonly claims: Readonly<Record<string, unknown>>;
  /** The bytes that the signature covers. */
  readonly signed: Buffer;
  readonly signature: Buffer;
}

const SEGMENTS = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/;

/**
 * @throws DomainError `unauthenticated` unless the text is a small EdDSA token whose header has no parameters but `alg`
 * and `typ`
 */
export function decodeToken(text: string): DecodedToken {
  if (text.length > MAX_TOKEN_BYTES) throw tokenError("malformed", `the token is larger than ${MAX_TOKEN_BYTES} bytes`);
  const [, header = "", payload = "", end = ""] = SEGMENTS.exec(text) ?? [];
  if (end === "") throw tokenError("malformed", "the token is not a signed JWT (three parts in base64url)");
  checkHeader(objectOf(header));
  const claims = objectOf(payload);
  const signature = bytesOf(end);
  if (signature.length !== SIGNATURE_BYTES)
    throw tokenError("signature", "the token's signature is not an Ed25519 signature");
  return { claims, signed: Buffer.from(text.slice(0, text.lastIndexOf(".")), "latin1"), signature };
}

/**
 * The issuer alone determines the key. A header that names or contains one (`kid`, `jwk`, `jku`, `x5u`, `x5c`), or an
 * extension that must be understood (`crit`, `b64`, `zip`), is refused.
 */
function checkHeader(header: Readonly<Record<string, unknown>>): void {
  if (!ALGORITHMS.has(header["alg"])) throw tokenError("algorithm", "the token is not signed with EdDSA (Ed25519)");
  const type = header["typ"];
  if (type !== undefined && (typeof type !== "string" || type.toUpperCase() !== "JWT")) {
    throw tokenError("malformed", "the token's type is not JWT");
  }
  if (Object.keys(header).some((name) => name !== "alg" && name !== "typ")) {
    throw tokenError("malformed", "the token's header has more than alg and typ");
  }
}

function objectOf(segment: string): Readonly<Record<string, unknown>> {
  const bytes = bytesOf(segment);
  let value: unknown;
  try {
    value = parseStrictJson(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw tokenError("malformed", "the token's header or claims are not a JSON object, or have a duplicate key");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw tokenError("malformed", "the token's header or claims are not a JSON object");
  }
  return value as Readonly<Record<string, unknown>>;
}

/** Accepts only one encoding of the same bytes: otherwise one signature would make several valid tokens. */
function bytesOf(segment: string): Buffer {
  const bytes = Buffer.from(segment, "base64url");
  if (bytes.toString("base64url") !== segment) throw tokenError("malformed", "the token is not base64url");
  return bytes;
}
