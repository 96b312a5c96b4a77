import { gunzipSync, inflateSync } from "node:zlib";

const hexOf = (text: string) => Buffer.from(text).toString("hex");
const eachChar = (text: string, map: (code: number) => string) =>
  [...text].map((char) => map(char.codePointAt(0) ?? 0)).join("");
const pad = (value: number, radix: number, width: number) => value.toString(radix).padStart(width, "0");

/** Encodings in which a text could be hidden, each with the forms that the text can take. */
const ENCODINGS: Readonly<Record<string, (text: string) => readonly string[]>> = {
  plain: (text) => [text],
  reversed: (text) => [[...text].reverse().join("")],
  "other case": (text) => [text.toUpperCase(), text.toLowerCase()],
  hex: (text) => [hexOf(text), hexOf(text).toUpperCase()],
  "hex with spaces": (text) => [hexOf(text).replaceAll(/(..)(?!$)/g, "$1 ")],
  base64: (text) => shifted(text, "base64"),
  base64url: (text) => shifted(text, "base64url"),
  "percent-encoding": (text) => [eachChar(text, (code) => `%${pad(code, 16, 2)}`)],
  "JSON escapes": (text) => [eachChar(text, (code) => `\\u${pad(code, 16, 4)}`)],
  "hex escapes": (text) => [eachChar(text, (code) => `\\x${pad(code, 16, 2)}`)],
  octal: (text) => [eachChar(text, (code) => `\\${pad(code, 8, 3)}`)],
  "HTML entities": (text) => [
    eachChar(text, (code) => `&#${code};`),
    eachChar(text, (code) => `&#x${pad(code, 16, 2)};`),
  ],
  "UTF-16": (text) => [[...text].join("\0")],
  binary: (text) => [eachChar(text, (code) => pad(code, 2, 8))],
  "decimal codes": (text) => [
    eachChar(text, (code) => `${code} `).trim(),
    eachChar(text, (code) => `${code},`).slice(0, -1),
  ],
  rot13: (text) => [text.replaceAll(/[a-z]/gi, rotated)],
  "spaces between": (text) => [[...text].join(" "), [...text].join("-")],
};

/**
 * The bytes before a text shift its bits: the forms for all three shifts, without the characters that the text shares
 * with its neighbours.
 */
function shifted(text: string, encoding: "base64" | "base64url"): readonly string[] {
  return [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
    const from = Math.ceil((before * 8) / 6);
    return bytes.toString(encoding).replace(/=+$/, "").slice(from, -1);
  });
}

function rotated(char: string): string {
  const base = char <= "Z" ? 65 : 97;
  return String.fromCharCode(((char.charCodeAt(0) - base + 13) % 26) + base);
}

/** The number of encodings that are searched. */
export const ENCODING_COUNT = Object.keys(ENCODINGS).length;

/** The encodings in which `data`, or compressed data in it, contains a text. */
export function encodingsFound(data: Buffer, text: string): readonly string[] {
  const places = [data, ...unpacked(data)].map((place) => place.toString("latin1"));
  return Object.entries(ENCODINGS).flatMap(([name, encode]) =>
    encode(text).some((form) => places.some((place) => place.includes(form))) ? [name] : [],
  );
}

function unpacked(data: Buffer): readonly Buffer[] {
  return [gunzipSync, inflateSync].flatMap((unpack) => {
    try {
      return [unpack(data)];
    } catch {
      return [];
    }
  });
}
