import { isIP, SocketAddress } from "node:net";
import { DomainError } from "../../base/errors.ts";
import { shownText } from "../../base/quoted-text.ts";
import type { DerValue } from "./der.ts";
import { der } from "./der-writer.ts";

/** One subject alternative name. `other`: a kind that is not used here. */
export type GeneralName =
  | { readonly type: "dns" | "uri" | "email"; readonly value: string }
  /** 4 or 16 bytes; in a name constraint an address followed by its mask, 8 or 32 bytes. */
  | { readonly type: "ip"; readonly value: Uint8Array }
  | { readonly type: "directory"; readonly value: Uint8Array }
  | { readonly type: "other"; readonly tag: number };

const TAGS = { email: 0x81, dns: 0x82, directory: 0xa4, uri: 0x86, ip: 0x87 } as const;
const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;

export function encodeGeneralName(name: Exclude<GeneralName, { type: "other" }>): Buffer {
  const { type, value } = name;
  return der(TAGS[type], typeof value === "string" ? Buffer.from(value, "latin1") : value);
}

export function decodeGeneralName({ tag, content }: DerValue): GeneralName {
  const text = Buffer.from(content).toString("latin1");
  switch (tag) {
    case TAGS.email:
      return { type: "email", value: text };
    case TAGS.dns:
      return { type: "dns", value: text };
    case TAGS.uri:
      return { type: "uri", value: text };
    case TAGS.ip:
      return { type: "ip", value: content };
    case TAGS.directory:
      return { type: "directory", value: content };
    default:
      return { type: "other", tag };
  }
}

/**
 * Parses the name of a server as a person writes it: an IPv4 or IPv6 address, or a DNS name whose first label may be
 * `*`.
 * @throws DomainError `invalid` for any other text; `flag` is the option that the error names
 */
export function hostName(text: string, flag: string): GeneralName & { type: "dns" | "ip" } {
  if (isIP(text) !== 0) return { type: "ip", value: addressBytes(text) };
  if (isHostName(text)) return { type: "dns", value: text.toLowerCase() };
  throw new DomainError("invalid", `${flag} takes DNS names and IP addresses, not ${JSON.stringify(text)}`, {
    fields: { hint: "write names in ASCII (xn--… for others), without a scheme, a port or a prefix such as DNS:" },
  });
}

/** `hostName` accepts the text. */
export function isHostName(text: string): boolean {
  const name = text.toLowerCase();
  return isIP(text) !== 0 || isDnsName(name.startsWith("*.") ? name.slice(2) : name);
}

/**
 * A lower-case DNS name of one or more labels, without a wildcard or a final dot. Its last label is not a number: that
 * would be an address.
 */
export function isDnsName(name: string): boolean {
  const labels = name.split(".");
  return name.length <= 253 && labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? "");
}

/** The 4 or 16 bytes of an address that `net.isIP` accepts. */
export function addressBytes(text: string): Uint8Array {
  if (isIP(text) === 4) return Buffer.from(text.split(".").map(Number));
  const plain = new SocketAddress({ address: text.replace(/%.*$/, ""), family: "ipv6" }).address;
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(plain);
  const hex = (high = "0", low = "0") => (Number(high) * 256 + Number(low)).toString(16);
  const groups = dotted ? `${dotted[1]}${hex(dotted[2], dotted[3])}:${hex(dotted[4], dotted[5])}` : plain;
  const [head = "", tail] = groups.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const all = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => "0"), ...right];
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex");
}

/** The name as text on one line, without control characters: a foreign CA may have chosen it. */
export function nameText(name: GeneralName): string {
  switch (name.type) {
    case "ip":
      return addressText(name.value);
    case "directory":
      return "a directory name";
    case "other":
      return "a name of another kind";
    default:
      return shownText(name.value);
  }
}

/** Formats an address, or an address followed by its mask. */
function addressText(bytes: Uint8Array): string {
  if (bytes.length === 8 || bytes.length === 32) {
    const half = bytes.length / 2;
    const ones = [...bytes.subarray(half)].reduce((sum, byte) => sum + (byte.toString(2).match(/1/g)?.length ?? 0), 0);
    return `${addressText(bytes.subarray(0, half))}/${ones}`;
  }
  if (bytes.length === 4) return [...bytes].join(".");
  if (bytes.length !== 16) return "a malformed address";
  const hex = Buffer.from(bytes).toString("hex");
  const groups = hex.match(/.{4}/g)?.map((group) => Number.parseInt(group, 16).toString(16)) ?? [];
  return new SocketAddress({ address: groups.join(":"), family: "ipv6" }).address;
}
