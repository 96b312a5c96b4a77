/** Encodes one DER value: `tag`, the total length of `parts`, then `parts`. */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  if (content.length < 0x80) return Buffer.concat([Buffer.from([tag, content.length]), content]);
  const digits: number[] = [];
  for (let left = content.length; left > 0; left = Math.floor(left / 256)) digits.unshift(left % 256);
  return Buffer.concat([Buffer.from([tag, 0x80 + digits.length, ...digits]), content]);
}

export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, ...parts);
}

/** A non-negative INTEGER from its big-endian bytes. */
export function integer(bytes: Uint8Array | number): Buffer {
  const digits = typeof bytes === "number" ? bytesOf(bytes) : [...bytes];
  while (digits.length > 1 && digits[0] === 0) digits.shift();
  if ((digits[0] ?? 0) >= 0x80) digits.unshift(0);
  return der(0x02, Buffer.from(digits));
}

/** An OBJECT IDENTIFIER from its dotted form. */
export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

export function octetString(content: Uint8Array): Buffer {
  return der(0x04, content);
}

/** A BIT STRING of whole bytes. */
export function bitString(content: Uint8Array): Buffer {
  return der(0x03, Buffer.from([0]), content);
}

/** A Time as RFC 5280 requires it: UTCTime until 2049, GeneralizedTime from 2050. Whole seconds. */
export function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/\.\d+|[-:T]/g, "");
  return text < "2050" ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text));
}

/** PEM text with lines of 64 characters. */
export function pemText(label: string, bytes: Uint8Array): string {
  const base64 = Buffer.from(bytes).toString("base64");
  return `-----BEGIN ${label}-----\n${base64.replace(/.{64}(?=.)/g, "$&\n")}\n-----END ${label}-----\n`;
}

function base128(number: number): number[] {
  const groups = [number % 128];
  for (let left = Math.floor(number / 128); left > 0; left = Math.floor(left / 128)) {
    groups.unshift((left % 128) + 128);
  }
  return groups;
}

function bytesOf(number: number): number[] {
  const hex = number.toString(16);
  return [...Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex")];
}
