import { expect, it } from "vitest";
import { fc } from "../../../test/support/property.ts";
import { DomainError } from "../../base/errors.ts";
import { readDer } from "./der.ts";

const bytes = (hex: string) => Buffer.from(hex, "hex");

it("reads values that stand one after the other", () => {
  const values = readDer(bytes("020101 0403aabbcc 0500".replaceAll(" ", "")));
  expect(values.map(({ tag, content }) => [tag, Buffer.from(content).toString("hex")])).toEqual([
    [0x02, "01"],
    [0x04, "aabbcc"],
    [0x05, ""],
  ]);
});

it("reads lengths of several bytes, and gives what a signature covers", () => {
  const long = Buffer.concat([bytes("04820100"), Buffer.alloc(256, 7)]);
  const [value] = readDer(long);
  expect(value?.content.length).toBe(256);
  expect(value?.whole.length).toBe(260);
});

it.each([
  ["a tag and no length", "02"],
  ["less than its length says", "020301"],
  ["an indefinite length", "308002010100"],
  ["a length with a leading zero", "0482000101"],
  ["a short length in the long form", "04810101"],
  ["a length of five bytes", "04850000000001"],
  ["a length cut off", "048201"],
  ["a tag of several bytes", "1f8101020101"],
])("refuses %s", (_, hex) => {
  expect(() => readDer(bytes(hex))).toThrow("not DER");
});

it("ends for any bytes, with values that make up the whole or with an error of its own", () => {
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
