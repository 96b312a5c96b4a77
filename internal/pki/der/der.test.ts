import { expect, it } from "vitest";
import { fc } from "../../../test/support/property.ts";
import { DomainError } from "../../base/errors.ts";
import { readDer } from "./der.ts";

const bytes = (hex: string) => Buffer.from(hex, "hex");

it("reads consecutive values", () => {
  const values = readDer(bytes("020101 0403aabbcc 0500".replaceAll(" ", "")));
  expect(values.map(({ tag, content }) => [tag, Buffer.from(content).toString("hex")])).toEqual([
    [0x02, "01"],
    [0x04, "aabbcc"],
    [0x05, ""],
  ]);
});

it("reads lengths of several bytes, and returns the signed bytes", () => {
  const long = Buffer.concat([bytes("04820100"), Buffer.alloc(256, 7)]);
  const [value] = readDer(long);
  expect(value?.content.length).toBe(256);
  expect(value?.whole.length).toBe(260);
});

it.each([
  ["a tag without a length", "02"],
  ["fewer bytes than the length states", "020301"],
  ["an indefinite length", "308002010100"],
  ["a length with a leading zero", "0482000101"],
  ["a short length in the long form", "04810101"],
  ["a length of five bytes", "04850000000001"],
  ["an incomplete length", "048201"],
  ["a tag of several bytes", "1f8101020101"],
])("refuses %s", (_, hex) => {
  expect(() => readDer(bytes(hex))).toThrow("not DER");
});

it("ends for any bytes, with values that cover all of them or with an error", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (any) => {
      try {
        expect(Buffer.concat(readDer(any).map(({ whole }) => whole)).equals(any)).toBe(true);
      } catch (err) {
        expect(err).toBeInstanceOf(DomainError);
      }
    }),
  );
});
