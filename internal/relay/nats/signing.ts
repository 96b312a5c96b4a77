import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from "node:crypto";
import { fromPublic, fromSeed } from "@nats-io/nkeys";
import type { MsgHdrs } from "@nats-io/transport-node";
import { DomainError } from "../../base/errors.ts";

/** The parts of a message that a signature covers. */
export interface Signable {
  readonly subject: string;
  /** The `Nats-Msg-Id`; absent: the message has none. */
  readonly msgId?: string;
  readonly body: string | Uint8Array;
}

const SIGNER = "Relay-Signer";
export const SIGNATURE = "Relay-Signature";

/** Signs messages with a user's nkey. */
export class MessageSigner {
  readonly #name: string;
  readonly #key: KeyObject;

  /** @throws DomainError `invalid` if `seed` is not a seed; the error does not quote it */
  constructor(name: string, seed: string) {
    this.#name = name;
    this.#key = privateKeyOf(seed);
  }

  /** The headers with signer and signature. */
  headersFor(message: Signable): Readonly<Record<string, string>> {
    const signature = sign(null, signedText(message), this.#key).toString("base64url");
    return { [SIGNER]: this.#name, [SIGNATURE]: signature };
  }
}

/** The signers whose messages are accepted. */
export class Signers {
  readonly #keys: ReadonlyMap<string, KeyObject>;

  /** @param keys public nkeys of users, by signer. @throws DomainError `invalid` with the signer of an invalid key */
  constructor(keys: Readonly<Record<string, string>>) {
    this.#keys = new Map(Object.entries(keys).map(([name, key]) => [name, publicKeyOf(name, key)]));
  }

  /** True if a known signer has signed the message, for this subject. */
  hasSigned({ subject, data, headers }: SignedMessage): boolean {
    const key = this.#keys.get(headers?.get(SIGNER) ?? "");
    if (key === undefined) return false;
    const signature = Buffer.from(headers?.get(SIGNATURE) ?? "", "base64url");
    const msgId = headers?.get("Nats-Msg-Id") ?? "";
    return verify(null, signedText({ subject, msgId, body: data }), key, signature);
  }
}

interface SignedMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers?: MsgHdrs | undefined;
}

/** The signed text: subject, message id and SHA-256 of the body in hex, one per line. */
function signedText({ subject, msgId = "", body }: Signable): Uint8Array {
  return Buffer.from(`${subject}\n${msgId}\n${hash("sha256", body, "hex")}`);
}

function privateKeyOf(seed: string): KeyObject {
  const text = seed.trim();
  try {
    const x = rawOf(fromSeed(new TextEncoder().encode(text)).getPublicKey(), 1);
    const d = rawOf(text, 2);
    return createPrivateKey({ key: { kty: "OKP", crv: "Ed25519", d, x }, format: "jwk" });
  } catch {
    throw new DomainError("invalid", "it holds no seed of an nkey");
  }
}

function publicKeyOf(name: string, nkey: string): KeyObject {
  try {
    if (!nkey.startsWith("U")) throw new Error("no user");
    fromPublic(nkey); // throws if it is invalid
    return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: rawOf(nkey, 1) }, format: "jwk" });
  } catch {
    throw new DomainError("invalid", `the key of ${JSON.stringify(name)} is not a user's public nkey`);
  }
}

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const KEY_BYTES = 32;

/** Extracts the key of an nkey as base64url. An nkey is base32 of a prefix, the key and a checksum. */
function rawOf(text: string, prefixBytes: number): string {
  const bits = [...text].map((char) => BASE32.indexOf(char).toString(2).padStart(5, "0")).join("");
  const bytes = (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  return Buffer.from(bytes.slice(prefixBytes, prefixBytes + KEY_BYTES)).toString("base64url");
}
