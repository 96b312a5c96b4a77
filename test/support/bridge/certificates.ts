import { generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from "node:crypto";
import type { TlsMaterial } from "../../../internal/rpc/common/tls.ts";

/** The names and the purpose of a leaf. */
export interface LeafNames {
  readonly dns?: readonly string[];
  readonly uris?: readonly string[];
  readonly ips?: readonly string[];
  /** The days from now until its end; default 7. */
  readonly days?: number | undefined;
  /** The days from now until its beginning; default -1. */
  readonly startDays?: number;
  /** Extended key usages; default: `server` for one with addresses, otherwise `client`. */
  readonly usages?: readonly (keyof typeof USAGES)[];
  /** Subject CN; default: `leaf`. */
  readonly cn?: string;
  /** A key pair instead of a P-256 one. */
  readonly keys?: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
  readonly extensions?: readonly Buffer[];
  /** Signed with SHA-1. */
  readonly sha1?: boolean;
}

/** A certificate authority for tests: P-256, everything valid from yesterday for a week. */
export class TestCa {
  readonly #name: string;
  readonly #parent: TestCa | undefined;
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  readonly pem: string;

  /** `parent`: the CA that signs this one, which is then an intermediate. */
  constructor(name: string, parent?: TestCa, days?: number) {
    this.#name = name;
    this.#parent = parent;
    this.pem = (parent ?? this).#certify(
      name,
      this.#keys.publicKey,
      [CA_EXTENSION],
      days === undefined ? {} : { days },
    );
  }

  /**
   * A leaf with these names, followed by the CA's own certificate if that is an intermediate, its key, and the root to
   * trust.
   */
  issue(names: LeafNames): TlsMaterial {
    const { uris = [], dns = [], ips = [], usages = ips.length > 0 ? ["server"] : ["client"] } = names;
    const { publicKey, privateKey } = names.keys ?? generateKeyPairSync("ec", { namedCurve: "P-256" });
    const alternatives = [
      ...uris.map((uri) => der(0x86, Buffer.from(uri, "latin1"))),
      ...dns.map((name) => der(0x82, Buffer.from(name, "latin1"))),
      ...ips.map((ip) => der(0x87, Buffer.from(ip.split(".").map(Number)))),
    ];
    const extensions = [...(names.extensions ?? [])];
    if (alternatives.length > 0) extensions.push(extension(SUBJECT_ALT_NAME, der(0x30, ...alternatives)));
    if (usages.length > 0) {
      extensions.push(extension(EXTENDED_KEY_USAGE, der(0x30, ...usages.map((usage) => oid(USAGES[usage])))));
    }
    const cert = this.#certify(names.cn ?? "leaf", publicKey, extensions, names);
    return {
      cert: this.#parent ? cert + this.pem : cert,
      key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      ca: (this.#parent ?? this).pem,
    };
  }

  /** The CA's own certificate and key. */
  get itself(): TlsMaterial {
    const key = this.#keys.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    return { cert: this.pem, key, ca: this.pem };
  }

  /** A certificate for the key and name of `other`, signed by this CA: a cross-signature. */
  crossSign(
    other: TestCa,
    options: Pick<LeafNames, "days" | "startDays"> & {
      readonly extensions?: readonly Buffer[];
      readonly pathLength?: number;
    } = {},
  ): string {
    const { pathLength } = options;
    const constraints = pathLength === undefined ? CA_EXTENSION : caExtension(pathLength);
    const extensions = [constraints, ...(options.extensions ?? [])];
    return this.#certify(other.#name, other.#keys.publicKey, extensions, options);
  }

  /** A revocation list of this CA for these certificates. */
  revoke(
    certificates: readonly Pick<TlsMaterial, "cert">[],
    options: { readonly days?: number; readonly startDays?: number; readonly number?: number } = {},
  ): string {
    return this.revokeSerials(
      certificates.map(({ cert }) => serialOf(cert)),
      options,
    );
  }

  /** The same, by serial numbers. */
  revokeSerials(
    serials: readonly Buffer[],
    options: { readonly days?: number; readonly startDays?: number; readonly number?: number } = {},
  ): string {
    const { days = 7, startDays = -1, number } = options;
    const entries = serials.map((serial) => der(0x30, der(0x02, serial), time(-0.5)));
    const body = der(
      0x30,
      der(0x02, Buffer.from([1])), // version 2
      SIGNATURE_ALGORITHM,
      nameOf(this.#name),
      time(startDays),
      time(days),
      ...(entries.length > 0 ? [der(0x30, ...entries)] : []),
      ...(number === undefined
        ? []
        : [der(0xa0, der(0x30, extension(CRL_NUMBER, der(0x02, Buffer.from([0, number])))))]),
    );
    return this.#signed("X509 CRL", body);
  }

  #certify(
    subject: string,
    publicKey: KeyObject,
    extensions: readonly Buffer[],
    { days = 7, startDays = -1, sha1 = false }: Pick<LeafNames, "days" | "startDays" | "sha1">,
  ): string {
    const algorithm = sha1 ? der(0x30, oid(ECDSA_WITH_SHA1)) : SIGNATURE_ALGORITHM;
    const body = der(
      0x30,
      der(0xa0, der(0x02, Buffer.from([2]))), // version 3
      der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
      algorithm,
      nameOf(this.#name),
      der(0x30, time(Math.min(startDays, days - 1)), time(days)),
      nameOf(subject),
      publicKey.export({ type: "spki", format: "der" }),
      der(0xa3, der(0x30, ...extensions)),
    );
    return this.#signed("CERTIFICATE", body, sha1 ? "sha1" : "sha256", algorithm);
  }

  #signed(label: string, body: Buffer, hash = "sha256", algorithm = SIGNATURE_ALGORITHM): string {
    const signature = sign(hash, body, this.#keys.privateKey);
    const bytes = der(0x30, body, algorithm, der(0x03, Buffer.from([0]), signature));
    return `-----BEGIN ${label}-----\n${bytes.toString("base64").replace(/.{64}(?=.)/g, "$&\n")}\n-----END ${label}-----\n`;
  }
}

const USAGES = { server: [1, 3, 6, 1, 5, 5, 7, 3, 1], client: [1, 3, 6, 1, 5, 5, 7, 3, 2] } as const;
const ECDSA_WITH_SHA1 = [1, 2, 840, 10045, 4, 1];
const ECDSA_WITH_SHA256 = [1, 2, 840, 10045, 4, 3, 2];
const COMMON_NAME = [2, 5, 4, 3];
const BASIC_CONSTRAINTS = [2, 5, 29, 19];
const SUBJECT_ALT_NAME = [2, 5, 29, 17];
const EXTENDED_KEY_USAGE = [2, 5, 29, 37];
const CRL_NUMBER = [2, 5, 29, 20];
const SIGNATURE_ALGORITHM = der(0x30, oid(ECDSA_WITH_SHA256));
const CA_EXTENSION = caExtension();

function caExtension(pathLength?: number): Buffer {
  const length = pathLength === undefined ? [] : [der(0x02, Buffer.from([pathLength]))];
  return extension(BASIC_CONSTRAINTS, der(0x30, der(0x01, Buffer.from([0xff])), ...length), true);
}

/** A critical extension that no program knows. */
export const UNKNOWN_CRITICAL = extension([1, 3, 6, 1, 4, 1, 99999, 1], der(0x05), true);

/** A CA's name constraint: none of its certificates may have a URI name on `host`. */
export function noUrisOn(host: string): Buffer {
  const subtree = der(0x30, der(0x86, Buffer.from(host, "latin1")));
  return extension([2, 5, 29, 30], der(0x30, der(0xa1, subtree)), true);
}

function serialOf(cert: string): Buffer {
  return Buffer.from(new X509Certificate(cert).serialNumber, "hex");
}

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  if (content.length < 0x80) return Buffer.concat([Buffer.from([tag, content.length]), content]);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(content.length);
  const length = size.subarray(size.findIndex((byte) => byte !== 0));
  return Buffer.concat([Buffer.from([tag, 0x80 + length.length]), length, content]);
}

function oid(numbers: readonly number[]): Buffer {
  const [first = 0, second = 0, ...rest] = numbers;
  const bytes = rest.flatMap((number) => {
    const groups = [number & 0x7f];
    for (let left = number >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80);
    return groups;
  });
  return der(0x06, Buffer.from([first * 40 + second, ...bytes]));
}

function nameOf(commonName: string): Buffer {
  return der(0x30, der(0x31, der(0x30, oid(COMMON_NAME), der(0x0c, Buffer.from(commonName)))));
}

function time(daysFromNow: number): Buffer {
  const text = new Date(Date.now() + daysFromNow * 86_400_000).toISOString().replace(/\.\d+|[-:T]/g, "");
  return der(0x18, Buffer.from(text));
}

function extension(id: readonly number[], value: Buffer, critical = false): Buffer {
  const flag = critical ? [der(0x01, Buffer.from([0xff]))] : [];
  return der(0x30, oid(id), ...flag, der(0x04, value));
}
