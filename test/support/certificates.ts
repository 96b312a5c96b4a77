import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import type { TlsMaterial } from "../../internal/rpcserver/tls.ts";

/** A throw-away certificate authority for tests: P-256, everything valid from yesterday for a week. */
export class TestCa {
  readonly #name: string;
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  readonly pem: string;

  constructor(name: string) {
    this.#name = name;
    const extensions = [extension(BASIC_CONSTRAINTS, der(0x30, der(0x01, Buffer.from([0xff]))), true)];
    this.pem = this.#certify(name, this.#keys.publicKey, extensions);
  }

  /** A leaf with these names, its key, and this CA as the one to trust. */
  issue(names: {
    readonly uris?: readonly string[];
    readonly ips?: readonly string[];
    readonly days?: number;
  }): TlsMaterial {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const uris = (names.uris ?? []).map((uri) => der(0x86, Buffer.from(uri, "latin1")));
    const ips = (names.ips ?? []).map((ip) => der(0x87, Buffer.from(ip.split(".").map(Number))));
    const extensions = [extension(SUBJECT_ALT_NAME, der(0x30, ...uris, ...ips))];
    const cert = this.#certify("leaf", publicKey, extensions, names.days);
    return { cert, key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(), ca: this.pem };
  }

  #certify(subject: string, publicKey: KeyObject, extensions: readonly Buffer[], days = 7): string {
    const algorithm = der(0x30, oid(ECDSA_WITH_SHA256));
    const body = der(
      0x30,
      der(0xa0, der(0x02, Buffer.from([2]))), // version 3
      der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
      algorithm,
      nameOf(this.#name),
      der(0x30, time(-1), time(days)),
      nameOf(subject),
      publicKey.export({ type: "spki", format: "der" }),
      der(0xa3, der(0x30, ...extensions)),
    );
    const signature = sign(
      "sha256",
      body,
      createPrivateKey(this.#keys.privateKey.export({ type: "pkcs8", format: "pem" })),
    );
    const bytes = der(0x30, body, algorithm, der(0x03, Buffer.from([0]), signature));
    return `-----BEGIN CERTIFICATE-----\n${bytes.toString("base64").replace(/.{64}(?=.)/g, "$&\n")}\n-----END CERTIFICATE-----\n`;
  }
}

const ECDSA_WITH_SHA256 = [1, 2, 840, 10045, 4, 3, 2];
const COMMON_NAME = [2, 5, 4, 3];
const BASIC_CONSTRAINTS = [2, 5, 29, 19];
const SUBJECT_ALT_NAME = [2, 5, 29, 17];

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  if (content.length < 0x80) return Buffer.concat([Buffer.from([tag, content.length]), content]);
  const length = content.length < 0x100 ? [0x81, content.length] : [0x82, content.length >> 8, content.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
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
